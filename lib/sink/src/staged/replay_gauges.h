// SPDX-License-Identifier: Apache-2.0
#pragma once

// The age of the oldest envelope and the time left to the earliest deadline, as two
// gauges that a metrics thread may sample while the task thread moves on.
//
// Threading: any thread. Ownership: the gauges share the state, so they may outlive
// the writer; the clock must outlive the metric group.

#include <memory>
#include <mutex>
#include <string_view>

#include "env/clock.h"
#include "sluice/sink/metrics.h"
#include "sluice/sink/staged/envelope_codec.h"

namespace sluice::sink {

/// Wall-clock milliseconds since the epoch, as envelopes carry them.
[[nodiscard]] std::int64_t NowMillis(const env::Clock& clock);

class ReplayGauges {
 public:
  ReplayGauges(MetricGroup& metrics, std::string_view age_name, std::string_view budget_name,
               const env::Clock& clock);

  void Add(std::int64_t origin_millis, std::int64_t deadline_millis);
  void Set(const ReplaySnapshot& snapshot);
  /// Both gauges show -1 from here on.
  void Clear() { Set(ReplaySnapshot()); }

 private:
  struct State {
    std::mutex mutex;
    ReplaySnapshot snapshot;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace sluice::sink
