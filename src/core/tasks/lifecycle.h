// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps by which a task enters a queue, takes off, lands and leaves, each
// keeping ledger, window, flights and counters in step. What decides that a
// step is due is elsewhere.
//
// Threading: one thread. Failure: a broken precondition ends the process.

#include <memory>

#include "core/tasks/state.h"

namespace sluice::core {

/// Puts a new task into the queue; not its name.
void AddTask(MachineState& state, QueueRuntime& queue, std::shared_ptr<const TaskBody> body);

/// One more attempt of a live task begins at `now`; `task` is as the ledger has
/// it. A forced one (RunTask) also makes the task due at `now`. Returns the task
/// as of this attempt's start.
Task StartFlight(MachineState& state, QueueRuntime& queue, const Task& task, bool is_forced,
                 Time now);

/// The last open attempt of a task failed: it is due again at `progress.schedule_time`.
void LandForRetry(MachineState& state, QueueRuntime& queue, const Task& before,
                  const TaskProgress& progress);

/// A live task ends. Its name, if the user chose it, stays reserved for the
/// queue's tombstone_ttl from `now`. Outcomes of open attempts will be ignored.
void EndTask(MachineState& state, QueueRuntime& queue, const Task& task, TaskEnd end, Time now);

/// Brings the bounds up to date and hands the counters to the ledger if they changed.
void SaveCounters(MachineState& state, QueueRuntime& queue);

/// What a request takes in memory and in a dead letter.
[[nodiscard]] std::size_t BytesOf(const HttpRequest& request);

/// The key of a task in its queue's schedule.
[[nodiscard]] inline ScheduleKey KeyOf(const Task& task) {
  return {task.progress.schedule_time, task.body->sequence};
}

}  // namespace sluice::core
