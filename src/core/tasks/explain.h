// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers why a task has not been sent yet. Reads only. Threading: one thread.

#include "core/tasks/state.h"

namespace sluice::core {

StatusOr<Explanation> ExplainTask(const MachineState& state, const TaskName& name, Time now);

}  // namespace sluice::core
