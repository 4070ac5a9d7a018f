// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decides which task is sent next: queues take turns, one task a turn; within a
// queue the earliest schedule time goes first, then the earliest creation. Each
// dispatch takes a token and counts against the queue's concurrency and the
// server's capacity.
//
// Threading: one thread.

#include <span>

#include "core/tasks/state.h"

namespace sluice::core {

/// Must follow every change of a queue that may alter what it waits for.
void Replan(MachineState& state, QueueRuntime& queue);

/// Gives the queue's bucket the pace of its settings and its throttle. After a change
/// of either; Replan follows.
void ApplyPace(QueueRuntime& queue, Time now);

/// See TaskMachine::Advance.
void Advance(MachineState& state, Time now);
[[nodiscard]] Time NextDeadline(const MachineState& state);

void WindowLoaded(MachineState& state, QueueRuntime& queue, const LoadWindow& request,
                  std::span<const ScheduleKey> entries, bool is_complete);
void TasksLoaded(MachineState& state, QueueRuntime& queue, const LoadTasks& request);

}  // namespace sluice::core
