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

struct StagedWriterParts {
  std::unique_ptr<RecordMapper> mapper;
  std::unique_ptr<FailedTaskHandler> handler;  // failJob; it is never called
  StagedOptions options;
  HostServices host;  // the random source fit for cryptography: names are drawn from it
};

/// Opens the mapper and makes the writer. Errors: INVALID_ARGUMENT naming failJob when
/// the handler may drop records, since a dropped record is not an exactly-once one; an
/// error of the mapper.
[[nodiscard]] StatusOr<std::unique_ptr<SinkWriter>> OpenStagedWriter(StagedWriterParts parts);

}  // namespace sluice::sink
