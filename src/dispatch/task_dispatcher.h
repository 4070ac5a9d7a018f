// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sends the attempts of HTTP tasks and says how each ended. It decides nothing:
// when an attempt is due, whether an outcome is a success and when to try again
// are the core's.
//
// An attempt that Stop cuts off gets no outcome at all. Its start is already
// durable, so the log keeps saying "sent, no answer seen", and the task is due
// again after the restart (spec 3.5). Reporting a failed connection would put a
// failure on record that the target never caused.
//
// Deadlines run in real time, also when the server's clock is virtual.
//
// Threading: every method from any thread. `finished` runs on the dispatcher's
// own thread, never within Start. Ownership: an attempt's body is held until its
// outcome is reported.

#include <memory>

#include "base/time.h"
#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "dispatch/http_client.h"
#include "dispatch/metrics.h"
#include "engine/engine.h"

namespace sluice::dispatch {

class TaskDispatcher final : public engine::Dispatcher {
 public:
  explicit TaskDispatcher(const HttpClient::Options& options);
  /// As Stop without grace.
  ~TaskDispatcher() override;

  /// After Stop the attempt is dropped without an outcome.
  void Start(core::StartAttempt attempt, Finished finished) override;

  /// Waits for open attempts for at most `grace`, then cuts off the rest. Blocks;
  /// not from within `finished`.
  void Stop(Duration grace);

  [[nodiscard]] DispatchMetrics Metrics() const;

 private:
  class Attempt;

  DispatchCounters counters_;
  HttpClient client_;  // last: its thread uses what is above
};

}  // namespace sluice::dispatch
