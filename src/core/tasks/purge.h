// SPDX-License-Identifier: Apache-2.0
#pragma once

// Purging a queue (spec 2.5). The purge itself is a watermark: tasks up to it
// are gone for everyone at once. Their records and names are cleaned away
// afterwards in bounded steps, which go on after a restart.
//
// The name of a purged task stays reserved until the purge's tombstone ends,
// and in any case until it is cleaned. A later purge that comes before the
// cleaning is done moves the reservation of what is left to its own time.
//
// Threading: one thread.

#include <span>

#include "core/tasks/state.h"

namespace sluice::core {

/// Everything created so far is purged.
void Purge(MachineState& state, QueueRuntime& queue, Time now);

/// Goes on with a cleaning that a restart interrupted.
void ResumeCleaning(MachineState& state, QueueRuntime& queue);

void PurgedFound(MachineState& state, QueueRuntime& queue, const FindPurged& request,
                 std::span<const Sequence> sequences, bool is_complete, Time now);

}  // namespace sluice::core
