// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/token_bucket.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace sluice::core {

namespace {

constexpr double kCreditPerToken = 1e6;

// 142 years. Beyond it a double no longer holds every microsecond.
constexpr double kWaitMicrosMax = 4503599627370496.0;  // 2^52

double CreditMax(std::int32_t burst) { return kCreditPerToken * burst; }

}  // namespace

TokenBucket::TokenBucket(double rate, std::int32_t burst, double credit, Time now)
    : credit_(credit), credit_us_(ToMicros(now)), rate_(rate), credit_max_(CreditMax(burst)) {
  SLUICE_CHECK(std::isfinite(rate) && rate >= 0, "token rate");
  SLUICE_CHECK(burst >= 1, "burst");
}

TokenBucket TokenBucket::Full(double rate, std::int32_t burst, Time now) {
  return TokenBucket(rate, burst, CreditMax(burst), now);
}

TokenBucket TokenBucket::Empty(double rate, std::int32_t burst, Time now) {
  return TokenBucket(rate, burst, 0, now);
}

double TokenBucket::CreditAt(std::int64_t us) const {
  const double elapsed = us > credit_us_ ? static_cast<double>(us - credit_us_) : 0;
  return std::min(credit_max_, credit_ + elapsed * rate_);
}

bool TokenBucket::TryTake(Time now) {
  const std::int64_t us = std::max(ToMicros(now), credit_us_);
  const double credit = CreditAt(us);
  if (credit < kCreditPerToken) return false;
  credit_ = credit - kCreditPerToken;
  credit_us_ = us;
  return true;
}

Time TokenBucket::NextTokenTime() const {
  if (credit_ >= kCreditPerToken) return FromMicros(credit_us_);
  if (rate_ <= 0) return absl::InfiniteFuture();
  const double wait = std::ceil((kCreditPerToken - credit_) / rate_);
  if (wait > kWaitMicrosMax) return absl::InfiniteFuture();
  std::int64_t us = credit_us_ + static_cast<std::int64_t>(wait);
  // The division may have rounded down by a hair; TryTake decides.
  while (CreditAt(us) < kCreditPerToken) ++us;
  return FromMicros(us);
}

double TokenBucket::TokensAt(Time now) const { return CreditAt(ToMicros(now)) / kCreditPerToken; }

void TokenBucket::Configure(double rate, std::int32_t burst, Time now) {
  const std::int64_t us = std::max(ToMicros(now), credit_us_);
  *this = TokenBucket(rate, burst, std::min(CreditAt(us), CreditMax(burst)), FromMicros(us));
}

}  // namespace sluice::core
