// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the outcome of an attempt means for its task (spec 2.3, 3.5, 3.6, 4.5,
// 4.6): done, tried again later, or given up.
//
// Threading: one thread.

#include "core/tasks/state.h"

namespace sluice::core {

[[nodiscard]] bool IsSuccess(const AttemptOutcome& outcome);

/// As shown in an attempt's response_status; only for outcomes that failed.
[[nodiscard]] AttemptStatus StatusOf(const AttemptOutcome& outcome);

void AttemptFinished(MachineState& state, AttemptId id, const AttemptOutcome& outcome, Time now);

}  // namespace sluice::core
