// SPDX-License-Identifier: Apache-2.0
#pragma once

// The append-only log, the one truth of the server: frames in pre-zeroed
// segment files, each frame written after the sync of the one before returned
// (docs/format/log.md has every byte). It knows nothing of what a frame holds.
//
// Positions are opaque, ordered, and may have gaps: a frame's position is a
// number larger than that of every frame before it. Position 0 means "before
// the first frame".
//
// Threading: one thread appends, syncs and seals; `DropBefore`, `Pin` and
// `usage` may be called from others.
// Failure: after any failed write or sync the log is dead: every later call
// fails and the caller must end the process (design, section 4 rule 5). A full
// disk is reported early through `Usage::is_space_low`, while reserved
// segments still take appends.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace sluice::env {
class Clock;
class Executor;
class FileSystem;
}  // namespace sluice::env

namespace sluice::log {

using Position = std::uint64_t;
inline constexpr Position kBeginning = 0;

/// What the log promises when `Sync` returned.
enum class Durability : std::uint8_t {
  kSync,  // on disk: survives a power cut
  kOs,    // handed to the operating system: a process kill loses nothing, a
          // power cut may lose up to a second
};

struct Options {
  Durability durability = Durability::kSync;
  std::uint64_t segment_bytes_first = 4u << 20;  // doubling from there
  std::uint64_t segment_bytes = 64u << 20;
  std::uint64_t frame_bytes_max = 32u << 20;
  std::uint64_t reserve_segments = 1;  // pre-zeroed ahead of the current one

  /// Where segments are zeroed ahead; must outlive the log. Null: by the thread
  /// that needs them, which keeps a simulation on one thread.
  env::Executor* executor = nullptr;
  /// For Durability::kOs, to really sync once a second; must outlive the log.
  const env::Clock* clock = nullptr;
  /// Given to a log that is created: a random number, so that the bytes of one log
  /// never pass for those of another.
  std::uint64_t new_log_id = 0;
  /// Positions named by a DATA_LOSS message whose loss the operator accepts.
  std::vector<Position> accept_loss_at;
};

/// What opening found and did; printed at start.
struct RecoveryReport {
  std::uint64_t segments = 0;
  std::uint64_t frames_replayed = 0;
  std::uint64_t bytes_replayed = 0;
  Position end = kBeginning;    // position of the last frame kept
  std::uint64_t bytes_cut = 0;  // an unproven last frame that was dropped
  std::string cut_reason;       // empty when nothing was cut
  bool was_sealed = false;      // the log ended with a seal: a clean idle end
  /// One sentence for each thing an operator should know: accepted losses, damage
  /// that concerned no data.
  std::vector<std::string> warnings;
};

struct Usage {
  std::uint64_t bytes = 0;  // of all segments, as allocated
  std::uint64_t segments = 0;
  Position first = kBeginning;  // position of the oldest frame still held
  Position end = kBeginning;
  bool is_space_low = false;  // the reserve could not be refilled
};

/// Called for each frame after `applied`, oldest first.
using FrameVisitor = std::function<Status(Position position, std::string_view payload)>;

class Log {
 public:
  /// Opens or creates the log in `dir`, which must exist. Frames after
  /// `applied` (the store's applied position) are given to `replay`. The tail
  /// is rewritten and synced, the folder too, before this returns, since pages
  /// read after a kill may never have reached the disk; only then is `replay`
  /// called, so that the store never gets what the disk does not hold.
  /// Errors: DATA_LOSS for damage that a later frame, a seal or `applied`
  /// proves to have been synced, and for an `applied` beyond the log's end; the
  /// message says what is lost and how to go on. FAILED_PRECONDITION for a
  /// format version this build does not know. Whatever `replay` returns.
  static StatusOr<std::unique_ptr<Log>> Open(env::FileSystem& fs, const std::string& dir,
                                             const Options& options, Position applied,
                                             const FrameVisitor& replay, RecoveryReport* report);
  virtual ~Log() = default;

  /// Writes one frame; not durable yet. Requires: the previous frame is synced.
  /// Errors: RESOURCE_EXHAUSTED when the disk is full and the reserve is used
  /// up (nothing was written); INVALID_ARGUMENT above frame_bytes_max; else final.
  virtual StatusOr<Position> Append(std::string_view payload) = 0;

  /// Makes the appended frame durable as `Durability` says. Errors: final.
  virtual Status Sync() = 0;

  /// Writes and syncs a seal: proof that everything before it was synced. To be
  /// called when idle; does nothing when nothing was appended since the last.
  virtual Status Seal() = 0;

  /// Allows segments whose frames all lie at or before `position` to be
  /// deleted, unless pinned. Errors: final.
  /// Deletes files and syncs the folder, so not for a thread that must not wait.
  virtual Status DropBefore(Position position) = 0;

  /// Keeps every segment that exists now until the pin is destroyed; gives the
  /// files (in `dir`) in order, for a backup. A complete file never changes again
  /// and may be linked; the last one is still written to: copy its first
  /// `synced_bytes`, which end with a synced frame and open as a log of their own
  /// (what follows in a copy counts as zeros).
  struct PinnedFile {
    std::string name;
    std::uint64_t synced_bytes = 0;
    bool is_complete = false;
  };
  class Pin {
   public:
    virtual ~Pin() = default;
    [[nodiscard]] virtual const std::vector<PinnedFile>& files() const = 0;
  };
  virtual std::unique_ptr<Pin> PinSegments() = 0;

  /// While space is low this also has the reserve tried again, so that watching
  /// is enough to learn when space is back.
  [[nodiscard]] virtual Usage usage() const = 0;
};

}  // namespace sluice::log
