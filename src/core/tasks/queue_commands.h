// SPDX-License-Identifier: Apache-2.0
#pragma once

// What clients ask of queues, and how queues come back after a restart.
// Contracts: machine.h.
//
// Threading: one thread.

#include "core/tasks/state.h"

namespace sluice::core {

StatusOr<Queue> CreateQueue(MachineState& state, const QueueName& name, const QueuePatch& settings,
                            Time now);
StatusOr<Queue> UpdateQueue(MachineState& state, const QueueName& name, const QueuePatch& patch,
                            Time now);
StatusOr<Queue> GetQueue(const MachineState& state, const QueueName& name);
Status DeleteQueue(MachineState& state, const QueueName& name, Time now);
/// kRunning or kPaused.
StatusOr<Queue> SetQueueState(MachineState& state, const QueueName& name, QueueState queue_state);
StatusOr<Queue> PurgeQueue(MachineState& state, const QueueName& name, Time now);
StatusOr<Queue> SetAccessPolicy(MachineState& state, const QueueName& name, std::string_view policy,
                                std::string_view etag);

void RestoreQueue(MachineState& state, const Queue& queue, const QueueCounters& counters, Time now);

}  // namespace sluice::core
