// SPDX-License-Identifier: Apache-2.0
#pragma once

// The pace of one queue (spec 2.2): a bucket of at most `burst` tokens that
// fills continuously at `rate` a second; each dispatch takes one. It does not
// know what is dispatched, and it has no timer: it says when the next token is
// there.
//
// Threading: one thread. Failure: none.

#include <cstdint>

#include "base/time.h"

namespace sluice::core {

class TokenBucket {
 public:
  /// Requires: rate >= 0 and finite, burst >= 1.
  static TokenBucket Full(double rate, std::int32_t burst, Time now);
  static TokenBucket Empty(double rate, std::int32_t burst, Time now);

  /// Takes a token if a whole one is there.
  bool TryTake(Time now);

  /// The first whole microsecond at which TryTake succeeds, never early; it may
  /// lie in the past. InfiniteFuture when that is centuries away.
  [[nodiscard]] Time NextTokenTime() const;

  /// What is in the bucket, for people. Between 0 and burst.
  [[nodiscard]] double TokensAt(Time now) const;

  /// What accrued so far counts at the old rate, what follows at the new one.
  void Configure(double rate, std::int32_t burst, Time now);

 private:
  TokenBucket(double rate, std::int32_t burst, double credit, Time now);
  [[nodiscard]] double CreditAt(std::int64_t us) const;

  // In millionths of a token, so that one microsecond adds `rate_`: exact in a
  // double for every rate that is a multiple of 2^-20, and changed only when a
  // token is taken, so that asking often costs no precision.
  double credit_;
  std::int64_t credit_us_;  // when `credit_` was right
  double rate_;
  double credit_max_;
};

}  // namespace sluice::core
