// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ends tasks that are older than their queue's task_ttl (spec 2.7, 3.8). Tasks
// are created in the order of their sequence, so only the oldest of a queue is
// watched; which one that is the ledger is asked when the earliest possible
// expiry has come, and after many tasks ended, so that scans that begin at the
// oldest task do not pass over what is long gone.
//
// Threading: one thread.

#include <optional>

#include "core/tasks/state.h"

namespace sluice::core {

/// Neither a live task's sequence nor its creation lies before these.
void RaiseOldest(QueueRuntime& queue, Sequence sequence_min, Time create_time_min);

/// A task ended (task_count is already lowered).
void NoteEnd(const MachineState& state, QueueRuntime& queue, Time now);

/// When ExpireOldest must be called; InfiniteFuture while an answer is due.
[[nodiscard]] Time ExpiryDue(const QueueRuntime& queue);
/// Requires: ExpiryDue(queue) <= now.
void ExpireOldest(MachineState& state, QueueRuntime& queue, Time now);

void OldestFound(MachineState& state, QueueRuntime& queue,
                 const std::optional<TaskMachine::Oldest>& oldest, Time now);

}  // namespace sluice::core
