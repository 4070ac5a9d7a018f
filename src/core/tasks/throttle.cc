// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/throttle.h"

namespace sluice::core {

namespace {

constexpr std::int32_t kTooManyRequests = 429;
constexpr std::int32_t kServiceUnavailable = 503;
constexpr double kShareOfHalving = 0.5;
constexpr double kShareOfSuccess = 0.05;

}  // namespace

bool IsOverloaded(const AttemptOutcome& outcome, bool is_app_engine) {
  if (outcome.kind != AttemptOutcome::Kind::kResponse) return false;
  if (outcome.http_status == kServiceUnavailable) return true;
  return outcome.http_status == kTooManyRequests && !is_app_engine;
}

Duration RetryAfterOf(const AttemptOutcome& outcome, bool is_app_engine) {
  if (!IsOverloaded(outcome, is_app_engine)) return absl::ZeroDuration();
  return std::clamp(outcome.retry_after, absl::ZeroDuration(), kRetryAfterMax);
}

void Throttle::Overloaded(double configured, Duration retry_after, Time now) {
  if (retry_after > absl::ZeroDuration()) {
    paused_until_ = std::max(paused_until_, FloorToMicros(now + retry_after));
  }
  if (halved_at_ + kHalvingInterval > now) return;
  halved_at_ = now;
  const double rate =
      std::max(RateFor(configured) * kShareOfHalving, std::min(configured, kThrottledRateMin));
  share_ = std::min(1.0, rate / configured);
}

void Throttle::Succeeded() { share_ = std::min(1.0, share_ + kShareOfSuccess); }

}  // namespace sluice::core
