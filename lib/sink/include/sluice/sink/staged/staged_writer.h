// SPDX-License-Identifier: Apache-2.0
#pragma once

// The exactly-once mode's writer: turns records into envelopes and keeps them until
// the barrier. It opens no client and sends nothing; it keeps no state of its own,
// since ownership moves to the checkpoint with `PrepareCommit`.
//
// Threading: the task thread; gauges are sampled from any.
// Failure: any error is a job failure. Messages carry no payload, key, name or
// header value, and nothing of what user code reported.

#include <memory>

#include "base/status.h"
#include "sluice/sink/failed_task_handler.h"
#include "sluice/sink/host.h"
#include "sluice/sink/options.h"
#include "sluice/sink/record_mapper.h"
#include "sluice/sink/sink_writer.h"

namespace sluice::sink {

/// Opens `mapper` and makes the writer. `host` needs metrics, wall clock and a random
/// source fit for cryptography (names of records without a key are drawn from it).
/// Errors: INVALID_ARGUMENT naming failJob when `handler` may drop records, since a
/// dropped record is not an exactly-once one; an error of `mapper`.
StatusOr<std::unique_ptr<SinkWriter>> MakeStagedWriter(std::shared_ptr<RecordMapper> mapper,
                                                       const FailedTaskHandler& handler,
                                                       const StagedOptions& options,
                                                       const HostServices& host);

}  // namespace sluice::sink
