// SPDX-License-Identifier: Apache-2.0
#pragma once

// A writer as a host drives it, the same for both modes.
//
// At a checkpoint barrier the host calls `Flush(false)` and then `PrepareCommit`, and
// puts what that returns into the checkpoint; when the checkpoint is complete, it hands
// all pending envelopes up to it to the committer. At the end of the input the same
// happens with `Flush(true)`. A restart begins at the last completed checkpoint.
//
// Threading: the task thread only; a call may run mails of the mailbox.
// Failure: an error is a job failure: the host closes the writer and restarts from the
// last completed checkpoint.

#include <vector>

#include "base/status.h"
#include "sluice/sink/envelope.h"
#include "sluice/sink/record_mapper.h"

namespace sluice::sink {

class SinkWriter {
 public:
  virtual ~SinkWriter() = default;
  [[nodiscard]] virtual Status Write(const AnyRecord& record) = 0;
  [[nodiscard]] virtual Status Flush(bool end_of_input) = 0;
  /// Always empty for the eager writer, whose flush already created everything.
  [[nodiscard]] virtual StatusOr<std::vector<Envelope>> PrepareCommit() = 0;
  /// Without a flush. A second call does nothing.
  [[nodiscard]] virtual Status Close() = 0;
};

}  // namespace sluice::sink
