// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far a queue holds back because its target said that it is overloaded (spec 4.7).
// Each such answer halves the queue's pace, at most once in kHalvingInterval, since many
// attempts may be under way when a target gives up; each success gives a twentieth of
// the configured pace back. A Retry-After stops the queue for that long. The stored rate
// never changes, and nothing of this outlives the process.
//
// Threading: one thread. Failure: none.

#include <algorithm>

#include "base/time.h"
#include "core/tasks/machine.h"

namespace sluice::core {

/// A Retry-After beyond this counts as this.
inline constexpr Duration kRetryAfterMax = absl::Hours(1);
/// No queue is slowed below this, unless it is configured to be slower.
inline constexpr double kThrottledRateMin = 0.1;
inline constexpr Duration kHalvingInterval = absl::Seconds(1);

/// True when the target asks for less: 429 or 503 from an HTTP target, 503 from an App
/// Engine one.
[[nodiscard]] bool IsOverloaded(const AttemptOutcome& outcome, bool is_app_engine);

/// What a Retry-After that counts asks for; zero when it does not count.
[[nodiscard]] Duration RetryAfterOf(const AttemptOutcome& outcome, bool is_app_engine);

class Throttle {
 public:
  /// Dispatches a second, above zero and at most `configured`.
  [[nodiscard]] double RateFor(double configured) const {
    return std::max(configured * share_, std::min(configured, kThrottledRateMin));
  }
  [[nodiscard]] bool is_slow() const { return share_ < 1; }
  /// Nothing leaves before. May lie in the past.
  [[nodiscard]] Time paused_until() const { return paused_until_; }

  void Overloaded(double configured, Duration retry_after, Time now);
  void Succeeded();

 private:
  double share_ = 1;  // of the configured rate
  Time halved_at_ = absl::InfinitePast();
  Time paused_until_ = absl::InfinitePast();
};

}  // namespace sluice::core
