// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/explain.h"

#include <algorithm>
#include <utility>

#include "core/tasks/lifecycle.h"
#include "core/tasks/task_lookup.h"

namespace sluice::core {

namespace {

using Reason = Wait::Reason;

/// What holds back a task of a running queue whose time has come.
void ExplainDue(const MachineState& state, const QueueRuntime& queue, ScheduleKey key, Time now,
                std::vector<Wait>* waits) {
  const Throttle& throttle = queue.throttle;
  const Time pace = std::max(queue.bucket.NextTokenTime(), throttle.paused_until());
  if (pace > now) {
    const bool is_throttled = throttle.is_slow() || throttle.paused_until() > now;
    waits->push_back({is_throttled ? Reason::kThrottled : Reason::kRate, pace});
  }
  if (queue.open_attempts >= queue.queue.config.rate.max_concurrent_dispatches) {
    waits->push_back({Reason::kConcurrency, std::nullopt});
  }
  if (!state.attempts.HasRoom()) waits->push_back({Reason::kServerCapacity, std::nullopt});

  const Window& window = queue.window;
  const bool is_in_window = !window.bound().has_value() || key <= *window.bound();
  if (window.empty() ? !is_in_window : window.front() < key) {
    waits->push_back({Reason::kBehind, std::nullopt});
  }
  if (!is_in_window || queue.cold_front == key.sequence) {
    waits->push_back({Reason::kLoading, std::nullopt});
  }
}

}  // namespace

StatusOr<Explanation> ExplainTask(const MachineState& state, const TaskName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(FoundTask found, FindTask(state, name, now));
  const QueueRuntime& queue = *found.queue;
  const ScheduleKey key = KeyOf(found.task);
  std::vector<Wait> waits;

  if (queue.flights.contains(key.sequence)) {
    waits.push_back({Reason::kInFlight, std::nullopt});
    return Explanation{std::move(found.task), std::move(waits)};
  }
  const bool is_due = key.time <= now;
  if (!is_due) {
    waits.push_back(
        {found.task.progress.dispatch_count > 0 ? Reason::kBackoff : Reason::kScheduled, key.time});
  }
  if (queue.queue.state == QueueState::kPaused) {
    waits.push_back({Reason::kQueuePaused, std::nullopt});
  }
  if (queue.queue.state == QueueState::kDisabled) {
    waits.push_back({Reason::kQueueDisabled, std::nullopt});
  }
  if (is_due) ExplainDue(state, queue, key, now, &waits);
  return Explanation{std::move(found.task), std::move(waits)};
}

}  // namespace sluice::core
