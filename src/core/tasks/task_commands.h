// SPDX-License-Identifier: Apache-2.0
#pragma once

// What clients ask of tasks. Each reads first and then changes, so that a cold
// read leaves no trace. Contracts: machine.h.
//
// Threading: one thread.

#include "core/tasks/state.h"

namespace sluice::core {

/// `task` is moved from on success only.
StatusOr<Task> CreateTask(MachineState& state, const QueueName& name, NewTask& task, Time now);
StatusOr<Task> GetTask(const MachineState& state, const TaskName& name, Time now);
Status DeleteTask(MachineState& state, const TaskName& name, Time now);
StatusOr<Task> RunTask(MachineState& state, const TaskName& name, Time now);
StatusOr<TaskMachine::Listing> BeginListing(const MachineState& state, const QueueName& name,
                                            Time now);

}  // namespace sluice::core
