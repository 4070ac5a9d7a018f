// SPDX-License-Identifier: Apache-2.0
#pragma once

// The at-least-once writer: creates each task as its record comes and keeps nothing in
// a checkpoint, since a flush leaves every create stored or finally failed.
//
// Threading: see sink_writer.h. Ownership: the writer owns what it is given; what the
// host services point to must outlive it.

#include <memory>

#include "base/status.h"
#include "sluice/sink/failed_task_handler.h"
#include "sluice/sink/host.h"
#include "sluice/sink/options.h"
#include "sluice/sink/record_mapper.h"
#include "sluice/sink/sink_writer.h"
#include "sluice/sink/task_creator.h"

namespace sluice::sink {

struct EagerWriterParts {
  std::unique_ptr<RecordMapper> mapper;
  std::unique_ptr<FailedTaskHandler> handler;
  TaskCreatorFactory make_creator;
  WriterOptions options;
  HostServices host;
};

/// Opens the mapper, then the handler, then the client. When a later step fails, what
/// was opened is closed and the failure returned as it is; a mapper that cannot be
/// opened leaves the handler untouched.
[[nodiscard]] StatusOr<std::unique_ptr<SinkWriter>> OpenEagerWriter(EagerWriterParts parts);

}  // namespace sluice::sink
