// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happens when a log is opened: read what is there, tell damage from a torn
// tail, repair the tail on disk, and only then replay.
//
// The reasoning rests on one rule of the writer: a frame is written only after
// the frame before it is on disk, and it says so (`synced`). Hence
//   - an intact frame proves that everything up to its `synced` was on disk: if
//     some of it cannot be read now, the disk lost it, and that is DATA_LOSS;
//   - at most one frame, the last, can be torn by a crash. It was never
//     acknowledged, so it is cut: a mark is written over its head that covers
//     its bytes, and the log goes on behind them;
//   - each frame names the data frame before it, so that a frame that vanished
//     without a trace (a whole file, or sectors that read as zeros) is missed.
// A second rule is about us: what recovery reads may be in the page cache only.
// After a kill, bytes and names that an earlier process wrote are visible but may
// never reach the disk, while older bytes are still there. So the tail is written
// again, and a torn area is never cleared by zeros alone: zeros that only the
// cache holds would hide from the next recovery what the disk brings back after
// it. A mark is a frame, and the last frame is always written again.
// docs/format/log.md tells the same as a procedure.
//
// Threading: one thread, inside Log::Open.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "env/file_system.h"
#include "log/format.h"
#include "log/log.h"
#include "log/reserve.h"
#include "log/segment_reader.h"

namespace sluice::log {

/// A segment that holds frames.
struct Segment {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  Position last = kBeginning;  // its last data frame, or a position not before it
};

/// What the writer continues from.
struct RecoveredLog {
  std::uint64_t log_id = 0;
  std::vector<Segment> segments;    // oldest first; the last is written to
  std::unique_ptr<env::File> file;  // of the last segment
  std::uint64_t offset = 0;         // where its next frame begins
  std::vector<FreshSegment> reserve;
  std::uint32_t next_segment = 1;  // the number of the next one to be made
  Position last = kBeginning;      // the last data frame
  bool is_sealed = false;
};

class Recovery {
 public:
  Recovery(env::FileSystem& fs, std::string dir, const Options& options, Position applied,
           RecoveryReport* report);

  /// Errors: as Log::Open.
  StatusOr<RecoveredLog> Run(const FrameVisitor& replay);

 private:
  struct Found {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;           // of the file
    std::uint64_t bytes_declared = 0;  // by its header; a backup copies less
    Position last = kBeginning;        // kBeginning: unknown, or no frame
    std::uint64_t zeros_from = 0;      // from here on all zeros; `bytes` until known
    bool is_removed = false;
  };
  /// A place in the log, as an index into `found_` and an offset.
  struct Place {
    std::size_t index = 0;
    std::uint64_t offset = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct FoundFrame {
    Place place;
    FrameHeader header;
    std::uint64_t end = 0;
  };
  /// Bytes that are no frame, to be covered by one.
  struct Mark {
    FrameKind kind = FrameKind::kLost;
    Place place;
    std::uint64_t end = 0;
    Position previous = kBeginning;
    Position synced = kBeginning;  // of kLost: the frame with which the log goes on
  };

  // 1. Which files are there, and are they what their names say? (recovery.cc)
  Status ListSegments();
  Status CheckHeader(Found& found);
  Status CheckOlderSegments();
  StatusOr<bool> EndsInLostMark(std::size_t index);

  // 2. Which frames are there, and is anything missing? (recovery_scan.cc)
  Status Scan();
  Status TakeFrame(const FoundFrame& frame);
  Status HandleGap(Place place, const FoundFrame& next, bool* is_cut);
  StatusOr<Place> PlaceOfDamage(Place place, const FoundFrame& next);
  Status HandleEnd(Place place);
  Status CheckAppliedIsAFrame() const;
  StatusOr<std::optional<FoundFrame>> ReadFrame(Place place);
  StatusOr<std::optional<FoundFrame>> FindNext(Place from);
  StatusOr<bool> IsProvenAfter(FoundFrame frame, Position lost);
  /// The last place in [from, to) with a byte that is not zero.
  StatusOr<std::optional<Place>> LastGarbage(Place from, Place to);
  StatusOr<std::string> ProofOfTornFrame(Place tear, Place garbage_end);
  void GiveUp(Place place, std::uint64_t end, Position resume, const std::string& what);
  void EndBelowApplied(Place place, const std::string& what);
  Status CutAt(Place place);

  // 3. The tail on disk, and 4. the frames to the caller. (recovery_repair.cc)
  Status Repair();
  Status RewriteTail();
  Status WriteMarks();
  Status ZeroTornBytes();
  Status RemoveUselessSegments();
  Status Replay(const FrameVisitor& visit);
  StatusOr<RecoveredLog> Finish();

  StatusOr<SegmentReader*> ReaderOf(std::size_t index);
  /// As SegmentReader::NonzeroEnd up to the end of the segment, but reads the unused
  /// part only once: that is most of what a start reads.
  StatusOr<std::uint64_t> GarbageEnd(Place from);
  [[nodiscard]] Position At(Place place) const;
  [[nodiscard]] std::optional<Place> PlaceOf(Position position) const;
  [[nodiscard]] Place EndOfLog() const;
  [[nodiscard]] std::string PathOf(std::uint32_t number) const;
  [[nodiscard]] bool IsAccepted(Position lost) const;
  /// DATA_LOSS that names place, loss and ways to go on.
  [[nodiscard]] Status Loss(Position at, const std::string& what) const;
  [[nodiscard]] Status LossWithoutChoice(const std::string& what) const;
  void Warn(std::string text) { report_->warnings.push_back(std::move(text)); }

  env::FileSystem& fs_;
  const std::string dir_;
  const Options& options_;
  const Position applied_;
  RecoveryReport* const report_;

  std::optional<std::uint64_t> log_id_;
  std::vector<Found> found_;               // by number
  std::unique_ptr<SegmentReader> reader_;  // of the segment last asked for
  std::size_t reader_index_ = 0;
  std::size_t start_ = 0;  // the first segment that is scanned

  // What the scan knows. `last_` is nothing before the first frame is seen.
  std::optional<Position> last_;
  std::optional<Position> first_;  // the first frame seen
  Position synced_ = kBeginning;   // the newest proof among the frames taken
  Place end_;                      // behind the last frame taken
  std::uint64_t frames_to_replay_ = 0;
  bool is_sealed_ = false;
  bool is_last_strict_ = true;
  Position resume_ = kBeginning;  // a frame whose predecessors were given up
  bool has_loss_ = false;
  bool has_applied_ = false;         // the applied frame itself was seen
  bool must_move_on_ = false;        // nothing may follow in the last segment
  std::map<Position, Place> jumps_;  // where the scan went on when no frame followed
  std::vector<Mark> marks_;
};

}  // namespace sluice::log
