// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sends the attempts of tasks and says how each ended. It decides nothing:
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
// An attempt with a token first waits for it on the token worker, since signing takes
// longer than everything else here; the caller and the attempts without one do not.
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
#include "dispatch/target.h"
#include "dispatch/token_source.h"
#include "engine/engine.h"
#include "env/executor.h"

namespace sluice::dispatch {

/// Where attempts get their tokens, and where they wait for them.
struct DispatchTokens {
  TokenSource* source = nullptr;
  env::Executor* worker = nullptr;  // one job after the other
};

class TaskDispatcher final : public engine::Dispatcher {
 public:
  /// Without a source of tokens attempts that need one fail. What `tokens` names outlives
  /// this, but the worker's jobs have run before.
  explicit TaskDispatcher(const HttpClient::Options& options, TargetOptions targets = {},
                          DispatchTokens tokens = {});
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

  const TargetOptions targets_;
  const DispatchTokens tokens_;
  DispatchCounters counters_;
  HttpClient client_;  // last: its thread uses what is above
};

}  // namespace sluice::dispatch
