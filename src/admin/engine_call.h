// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asking the engine and waiting for the answer, for callers that may block: the
// start, a reload, an admin call on its own thread. Never from the lane.
//
// Threading: any thread but the lane.
// Failure: DEADLINE_EXCEEDED when the engine does not answer in time; a late
// answer is dropped.

#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "engine/engine.h"

namespace sluice::admin {

/// Replies in the order of the commands. All are submitted before the first
/// wait, so that they share commits. `wait_max` is real time.
std::vector<engine::Reply> CallAll(engine::Engine& engine, std::vector<engine::Command> commands,
                                   Duration wait_max);

engine::Reply Call(engine::Engine& engine, engine::Command command, Duration wait_max);

}  // namespace sluice::admin
