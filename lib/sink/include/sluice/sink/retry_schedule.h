// SPDX-License-Identifier: Apache-2.0
#pragma once

// When to try again: doubling delays under a cap, then jitter of a quarter to either
// side, which may carry a delay past the cap. A value; any thread.

#include <chrono>
#include <cstdint>

#include "env/random.h"

namespace sluice::sink {

class RetrySchedule {
 public:
  RetrySchedule(std::chrono::milliseconds initial, std::chrono::milliseconds max, int max_attempts)
      : initial_(initial), max_(max), max_attempts_(max_attempts) {}

  /// Attempts in total, the first one included.
  [[nodiscard]] int max_attempts() const { return max_attempts_; }
  /// Whether another attempt may follow the `failures`-th failure.
  [[nodiscard]] bool MayRetryAfter(int failures) const { return failures < max_attempts_; }
  /// The delay after the `failure`-th failure (from 1), before jitter.
  [[nodiscard]] std::chrono::milliseconds Backoff(int failure) const;
  /// With jitter, in whole milliseconds and at least one.
  [[nodiscard]] std::chrono::milliseconds Jittered(int failure, env::Random& random) const;

 private:
  std::chrono::milliseconds initial_;
  std::chrono::milliseconds max_;
  int max_attempts_;
};

}  // namespace sluice::sink
