// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sink as the host loop drives it: one writer, and with exactly-once one
// committer. Batches travel as bytes, so that the loop and its checkpoints know
// nothing of what is in them.
//
// Threading: everything from the host's thread, but Commit, which runs on another
// beside it, one commit at a time.
// Failure: every error ends the run.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "runner/record_source.h"

namespace sluice::runner {

/// What the open batch holds, and may. Zero limits: there are no batches.
struct BatchFill {
  std::int64_t tasks = 0;
  std::int64_t bytes = 0;
  std::int64_t tasks_max = 0;
  std::int64_t bytes_max = 0;

  /// Time to close it: what comes while it is being committed has the other half.
  [[nodiscard]] bool is_half_full() const {
    return tasks > 0 && (tasks * 2 >= tasks_max || bytes * 2 >= bytes_max);
  }
  /// Another task, however large, might not fit.
  [[nodiscard]] bool is_full() const {
    return tasks > 0 && (tasks >= tasks_max || bytes + kOneTaskBytes > bytes_max);
  }

  static constexpr std::int64_t kOneTaskBytes = 100'000 + 256;
};

class SinkPort {
 public:
  virtual ~SinkPort() = default;

  virtual Status Write(Record record) = 0;
  /// Lets completions and due retries run, without waiting.
  virtual Status Pump() = 0;
  /// At a barrier: everything written is created, or in the batch.
  virtual Status Flush(bool is_end_of_input) = 0;
  /// The batch since the last call; empty bytes when there is nothing to commit.
  virtual StatusOr<std::string> TakeBatch() = 0;
  /// Creates a batch whose checkpoint is durable. Any thread; also after a restart.
  virtual Status Commit(const std::string& batch) = 0;
  virtual Status Close() = 0;

  [[nodiscard]] virtual BatchFill fill() const = 0;
};

}  // namespace sluice::runner
