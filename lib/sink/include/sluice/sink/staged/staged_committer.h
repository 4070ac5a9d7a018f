// SPDX-License-Identifier: Apache-2.0
#pragma once

// The exactly-once mode's committer: creates the tasks of completed checkpoints under
// the names they were staged with, and starts no attempt at or after an envelope's
// deadline. Returning OK from `Commit` is a promise; any doubt is an error, and the
// host commits the same envelopes again after a restart.
//
// Backoffs and RPC deadlines follow the monotonic clock, the authorization the wall
// clock, which other machines can compare.
//
// Threading: `Commit` on one thread at a time; `Close` from any thread wakes and fails
// a running commit, which then closes the creator as it ends. The mailbox must be this
// committer's own. Ownership: keeps the creator.
// Failure: messages name queue, status and counts, never a payload or the service's text.

#include <memory>

#include "base/status.h"
#include "sluice/sink/host.h"
#include "sluice/sink/options.h"
#include "sluice/sink/queue_destination.h"
#include "sluice/sink/staged/retention.h"
#include "sluice/sink/task_creator.h"

namespace sluice::sink {

struct StagedCommitterConfig {
  QueueDestination queue;  // of every envelope
  WriterOptions writer;    // in-flight bound, both budgets, per-destination metrics
  StagedOptions staged;
};

std::unique_ptr<SinkCommitter> MakeStagedCommitter(StagedCommitterConfig config,
                                                   std::unique_ptr<TaskCreator> creator,
                                                   const HostServices& host);

/// Verifies the queue's retention (unless the options turn that off, or `make_reader`
/// is null, as it is with an emulator, which does not know the field), and only then
/// makes the creator and the committer. What was opened is closed on failure.
StatusOr<std::unique_ptr<SinkCommitter>> OpenStagedCommitter(
    StagedCommitterConfig config, const RetentionReaderFactory& make_reader,
    const TaskCreatorFactory& make_creator, const HostServices& host);

}  // namespace sluice::sink
