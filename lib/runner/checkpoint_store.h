// SPDX-License-Identifier: Apache-2.0
#pragma once

// The checkpoint directory: how far a run has come, so that the next start goes
// on from there. Two files hold the latest two checkpoints:
//   LOCK                  held while a run lives
//   checkpoint-<id>       the id in 20 digits; the newest and the one before it
// A checkpoint is written under another name, synced, renamed, and the folder is
// synced: after a crash it is whole or not there (docs/format/checkpoint.md).
//
// Threading: one thread at a time.
// Failure: DATA_LOSS for a damaged file, UNIMPLEMENTED for a newer format. The
// older checkpoint is never taken silently: in exactly-once mode going back
// means creating again what the newer one knew to be created.

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "env/file_system.h"
#include "runner/record_source.h"

namespace sluice::runner {

struct Checkpoint {
  std::uint64_t id = 0;
  std::string job;        // what the run does; another job must not go on with it
  SourcePosition source;  // everything before it is in the checkpoint or done
  std::string state;      // the sink's bytes
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

class CheckpointStore {
 public:
  /// Makes the folder when missing (its parent must exist) and takes its lock.
  /// Errors: FAILED_PRECONDITION when another run holds it.
  static StatusOr<CheckpointStore> Open(env::FileSystem& files, std::string dir);

  /// The newest checkpoint; empty for a new directory. Errors: see above.
  StatusOr<std::optional<Checkpoint>> Latest();

  /// Durable on return. Ids must rise.
  Status Save(const Checkpoint& checkpoint);

 private:
  CheckpointStore(env::FileSystem& files, std::string dir, std::unique_ptr<env::FileLock> lock)
      : files_(&files), dir_(std::move(dir)), lock_(std::move(lock)) {}
  StatusOr<std::vector<std::string>> Names() const;

  env::FileSystem* files_;
  std::string dir_;
  std::unique_ptr<env::FileLock> lock_;
};

/// The bytes of a checkpoint file, and back.
[[nodiscard]] std::string EncodeCheckpoint(const Checkpoint& checkpoint);
StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes);

}  // namespace sluice::runner
