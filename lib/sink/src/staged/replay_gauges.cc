// SPDX-License-Identifier: Apache-2.0
#include "staged/replay_gauges.h"

namespace sluice::sink {

std::int64_t NowMillis(const env::Clock& clock) {
  // A pre-epoch clock still rounds towards the past, as ToUnixMillis does.
  return absl::ToUnixMillis(clock.Now());
}

ReplayGauges::ReplayGauges(MetricGroup& metrics, std::string_view age_name,
                           std::string_view budget_name, const env::Clock& clock) {
  metrics.SetGauge(age_name, [state = state_, &clock] {
    const std::lock_guard lock(state->mutex);
    return state->snapshot.OldestAgeMillis(NowMillis(clock));
  });
  metrics.SetGauge(budget_name, [state = state_, &clock] {
    const std::lock_guard lock(state->mutex);
    return state->snapshot.RemainingMillis(NowMillis(clock));
  });
}

void ReplayGauges::Add(std::int64_t origin_millis, std::int64_t deadline_millis) {
  const std::lock_guard lock(state_->mutex);
  state_->snapshot.Add(origin_millis, deadline_millis);
}

void ReplayGauges::Set(const ReplaySnapshot& snapshot) {
  const std::lock_guard lock(state_->mutex);
  state_->snapshot = snapshot;
}

}  // namespace sluice::sink
