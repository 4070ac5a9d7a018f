// SPDX-License-Identifier: Apache-2.0
// The writing side: frames, seals, dropping, pins. Opening is recovery.h, the next
// segments are reserve.h.
#include "log/log.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "env/clock.h"
#include "env/executor.h"
#include "env/file_system.h"
#include "log/format.h"
#include "log/recovery.h"
#include "log/reserve.h"

namespace sluice::log {
namespace {

/// Durability::kOs: what a power cut may take at most.
const Duration kOsSyncInterval = absl::Seconds(1);
/// A frame buffer above this is given back after use.
constexpr std::size_t kFrameBufferBytesKept = 1u << 20;

/// The oldest segment each pin needs. Shared by the log and its pins, since a pin
/// may outlive the log.
struct Pins {
  std::mutex mutex;
  std::multiset<std::uint32_t> oldest;
};

class SegmentPin : public Log::Pin {
 public:
  SegmentPin(std::shared_ptr<Pins> pins, std::uint32_t oldest, std::vector<Log::PinnedFile> files)
      : pins_(std::move(pins)), oldest_(oldest), files_(std::move(files)) {}
  ~SegmentPin() override {
    const std::lock_guard lock(pins_->mutex);
    pins_->oldest.erase(pins_->oldest.find(oldest_));
  }
  [[nodiscard]] const std::vector<Log::PinnedFile>& files() const override { return files_; }

 private:
  const std::shared_ptr<Pins> pins_;
  const std::uint32_t oldest_;
  const std::vector<Log::PinnedFile> files_;
};

Status CheckOptions(const Options& options) {
  const std::uint64_t frame_bytes_max = kSegmentBytesMax - kSegmentHeaderBytes - kSegmentTailBytes -
                                        kFrameHeaderBytes - kSegmentGranuleBytes;
  if (options.frame_bytes_max > frame_bytes_max) {
    return InvalidArgument("log frame_bytes_max {} is above {}", options.frame_bytes_max,
                           frame_bytes_max);
  }
  if (options.segment_bytes_first == 0 || options.segment_bytes_first > options.segment_bytes ||
      options.segment_bytes > kSegmentBytesMax) {
    return InvalidArgument(
        "log segment sizes: the first ({}) must be at least 1 and at most segment_bytes ({}), "
        "which is at most {}",
        options.segment_bytes_first, options.segment_bytes, kSegmentBytesMax);
  }
  if (options.durability == Durability::kOs && options.clock == nullptr) {
    return InvalidArgument("log durability \"os\" needs a clock for its sync once a second");
  }
  return absl::OkStatus();
}

std::uint64_t RoundUpSegment(std::uint64_t bytes) {
  return (bytes + kSegmentGranuleBytes - 1) / kSegmentGranuleBytes * kSegmentGranuleBytes;
}

class SegmentedLog : public Log {
 public:
  SegmentedLog(env::FileSystem& fs, std::string dir, const Options& options, RecoveredLog recovered,
               std::shared_ptr<Reserve> reserve, Position applied)
      : fs_(fs),
        dir_(std::move(dir)),
        options_(options),
        log_id_(recovered.log_id),
        reserve_(std::move(reserve)),
        file_(std::move(recovered.file)),
        offset_(recovered.offset),
        has_unsealed_(!recovered.is_sealed && recovered.last != kBeginning),
        segments_(std::move(recovered.segments)),
        last_(recovered.last),
        synced_(recovered.last),
        synced_offset_(recovered.offset),
        end_(std::max(recovered.last, applied)) {
    if (options_.clock != nullptr) synced_at_ = options_.clock->Now();
  }
  ~SegmentedLog() override { reserve_->Stop(); }

  StatusOr<Position> Append(std::string_view payload) override;
  Status Sync() override;
  Status Seal() override;
  Status DropBefore(Position position) override;
  std::unique_ptr<Pin> PinSegments() override;
  [[nodiscard]] Usage usage() const override;

 private:
  Status CheckUsable() const;
  Status Die(const Status& cause);
  Status MoveToNextSegment(std::uint64_t bytes_needed);
  Status WriteFrame(FrameKind kind, std::string_view payload);
  Status SyncToDisk();
  std::vector<std::uint32_t> TakeDroppable(Position position);

  env::FileSystem& fs_;
  const std::string dir_;
  const Options options_;
  const std::uint64_t log_id_;
  const std::shared_ptr<Reserve> reserve_;  // its job in the executor may be last to leave
  const std::shared_ptr<Pins> pins_ = std::make_shared<Pins>();

  // Of the appending thread alone.
  std::unique_ptr<env::File> file_;
  std::uint64_t offset_;
  bool has_unsynced_ = false;  // bytes written since the last real sync
  bool has_unsealed_;
  Time synced_at_;
  std::string buffer_;

  std::mutex drop_mutex_;  // one drop at a time; taken before mutex_

  mutable std::mutex mutex_;       // guards what follows; never held during I/O
  std::vector<Segment> segments_;  // the last is written to
  Position last_;                  // the last data frame
  Position synced_;                // the last data frame known to be on disk
  std::uint64_t synced_offset_;    // how much of the last segment is on disk
  Position end_;
  Status dead_;
};

Status SegmentedLog::CheckUsable() const {
  SLUICE_RETURN_IF_ERROR(reserve_->failure());
  const std::lock_guard lock(mutex_);
  return dead_;
}

/// After a failed write or sync nobody can say what is on disk (file_system.h), so
/// nothing may be acknowledged any more, nor tried again.
Status SegmentedLog::Die(const Status& cause) {
  const std::lock_guard lock(mutex_);
  if (dead_.ok()) {
    dead_ = Internal("log {} failed and takes no more frames; restart to recover: {}", dir_,
                     Message(cause));
  }
  return dead_;
}

Status SegmentedLog::MoveToNextSegment(std::uint64_t bytes_needed) {
  // Under kOs too: recovery relies on segments before the last being on disk.
  if (has_unsynced_) SLUICE_RETURN_IF_ERROR(SyncToDisk());
  StatusOr<FreshSegment> next = reserve_->Take(RoundUpSegment(kSegmentHeaderBytes + bytes_needed));
  if (!next.ok()) {
    if (next.status().code() != absl::StatusCode::kResourceExhausted) return Die(next.status());
    return ResourceExhausted("log {}: the disk is full and the reserve is used up: {}", dir_,
                             Message(next.status()));
  }
  file_ = std::move(next->file);
  offset_ = kSegmentHeaderBytes;
  {
    const std::lock_guard lock(mutex_);
    segments_.push_back(Segment{.number = next->number, .bytes = next->bytes});
    synced_offset_ = offset_;
  }
  reserve_->Refill();
  return absl::OkStatus();
}

Status SegmentedLog::WriteFrame(FrameKind kind, std::string_view payload) {
  FrameHeader header{.kind = kind,
                     .is_strict = options_.durability == Durability::kSync,
                     .payload_bytes = static_cast<std::uint32_t>(payload.size())};
  {
    const std::lock_guard lock(mutex_);
    header.position = PositionOf(segments_.back().number, offset_);
    header.previous = last_;
    header.synced = synced_;
  }
  EncodeFrame(header, payload, log_id_, &buffer_);
  const Status written = file_->WriteAt(offset_, buffer_);
  offset_ += buffer_.size();
  if (buffer_.capacity() > kFrameBufferBytesKept) std::string().swap(buffer_);
  if (!written.ok()) return Die(written);
  has_unsynced_ = true;
  if (kind != FrameKind::kData) return absl::OkStatus();
  has_unsealed_ = true;
  const std::lock_guard lock(mutex_);
  last_ = header.position;
  end_ = last_;
  segments_.back().last = last_;
  return absl::OkStatus();
}

StatusOr<Position> SegmentedLog::Append(std::string_view payload) {
  SLUICE_RETURN_IF_ERROR(CheckUsable());
  SLUICE_CHECK(!has_unsynced_ || options_.durability == Durability::kOs,
               "a frame is appended only after the sync of the one before");
  if (payload.size() > options_.frame_bytes_max) {
    return InvalidArgument("log frame of {} bytes: at most {} are allowed", payload.size(),
                           options_.frame_bytes_max);
  }
  std::uint64_t room = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!segments_.empty() && segments_.back().bytes > offset_) {
      room = segments_.back().bytes - offset_;
    }
  }
  const std::uint64_t needed = FrameBytes(payload.size()) + kSegmentTailBytes;
  if (room < needed) SLUICE_RETURN_IF_ERROR(MoveToNextSegment(needed));
  SLUICE_RETURN_IF_ERROR(WriteFrame(FrameKind::kData, payload));
  const std::lock_guard lock(mutex_);
  return last_;
}

Status SegmentedLog::SyncToDisk() {
  if (const Status synced = file_->SyncData(); !synced.ok()) return Die(synced);
  has_unsynced_ = false;
  if (options_.clock != nullptr) synced_at_ = options_.clock->Now();
  const std::lock_guard lock(mutex_);
  synced_ = last_;
  synced_offset_ = offset_;
  return absl::OkStatus();
}

Status SegmentedLog::Sync() {
  SLUICE_RETURN_IF_ERROR(CheckUsable());
  if (!has_unsynced_) return absl::OkStatus();
  if (options_.durability == Durability::kSync) return SyncToDisk();
  // Durable now: nothing beyond a process kill, until the second is over.
  const Duration since = options_.clock->Now() - synced_at_;
  const bool is_due = since >= kOsSyncInterval || since < absl::ZeroDuration();
  return is_due ? SyncToDisk() : absl::OkStatus();
}

Status SegmentedLog::Seal() {
  SLUICE_RETURN_IF_ERROR(CheckUsable());
  if (has_unsynced_) SLUICE_RETURN_IF_ERROR(SyncToDisk());
  if (!has_unsealed_) return absl::OkStatus();
  // After given-up bytes the segment ends here; the next frame proves as well.
  {
    const std::lock_guard lock(mutex_);
    if (segments_.back().bytes < offset_ + kFrameHeaderBytes) return absl::OkStatus();
  }
  SLUICE_RETURN_IF_ERROR(WriteFrame(FrameKind::kSeal, {}));
  has_unsealed_ = false;
  return SyncToDisk();
}

std::vector<std::uint32_t> SegmentedLog::TakeDroppable(Position position) {
  const std::lock_guard lock(mutex_);
  std::uint32_t pinned = segments_.back().number;
  {
    const std::lock_guard pins_lock(pins_->mutex);
    if (!pins_->oldest.empty()) pinned = std::min(pinned, *pins_->oldest.begin());
  }
  // The oldest segment of a log always has a frame on disk: recovery takes that as
  // given when it can read none.
  const bool has_current_synced = SegmentOf(synced_) == segments_.back().number;
  std::size_t count = 0;
  while (count + 1 < segments_.size() && segments_[count].number < pinned &&
         segments_[count].last <= position &&
         (count + 2 < segments_.size() || has_current_synced)) {
    ++count;
  }
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(segments_[i].number);
  segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(count));
  return numbers;
}

Status SegmentedLog::DropBefore(Position position) {
  const std::lock_guard drop_lock(drop_mutex_);
  SLUICE_RETURN_IF_ERROR(CheckUsable());
  for (const std::uint32_t number : TakeDroppable(position)) {
    // One by one, oldest first and each made durable: a crash leaves no hole.
    if (const Status removed = fs_.Remove(env::JoinPath(dir_, SegmentFileName(number)));
        !removed.ok()) {
      return Die(removed);
    }
    if (const Status synced = fs_.SyncDirectory(dir_); !synced.ok()) return Die(synced);
  }
  reserve_->Refill();
  return absl::OkStatus();
}

std::unique_ptr<Log::Pin> SegmentedLog::PinSegments() {
  const std::lock_guard lock(mutex_);
  std::vector<PinnedFile> files;
  const std::uint32_t synced_segment = SegmentOf(synced_);
  for (const Segment& segment : segments_) {
    // A segment is complete once a frame of a later one is on disk; before that a
    // crash may bring the writer back to it.
    if (segment.number > synced_segment && !files.empty()) break;
    const bool is_current = segment.number == segments_.back().number;
    files.push_back(PinnedFile{.name = SegmentFileName(segment.number),
                               .synced_bytes = is_current ? synced_offset_ : segment.bytes,
                               .is_complete = segment.number < synced_segment});
  }
  const std::lock_guard pins_lock(pins_->mutex);
  const std::uint32_t oldest = segments_.front().number;
  pins_->oldest.insert(oldest);
  return std::make_unique<SegmentPin>(pins_, oldest, std::move(files));
}

Usage SegmentedLog::usage() const {
  if (reserve_->is_low()) reserve_->Refill();
  Usage usage{.bytes = reserve_->bytes(),
              .segments = reserve_->segments(),
              .is_space_low = reserve_->is_low()};
  const std::lock_guard lock(mutex_);
  for (const Segment& segment : segments_) usage.bytes += segment.bytes;
  usage.segments += segments_.size();
  if (last_ != kBeginning) {
    usage.first = PositionOf(segments_.front().number, kSegmentHeaderBytes);
  }
  usage.end = end_;
  return usage;
}

}  // namespace

StatusOr<std::unique_ptr<Log>> Log::Open(env::FileSystem& fs, const std::string& dir,
                                         const Options& options, Position applied,
                                         const FrameVisitor& replay, RecoveryReport* report) {
  static env::InlineExecutor inline_executor;
  SLUICE_RETURN_IF_ERROR(CheckOptions(options));
  RecoveryReport unused;
  if (report == nullptr) report = &unused;
  *report = RecoveryReport();
  Recovery recovery(fs, dir, options, applied, report);
  SLUICE_ASSIGN_OR_RETURN(RecoveredLog recovered, recovery.Run(replay));
  report->end = std::max(recovered.last, applied);
  report->was_sealed = recovered.is_sealed;

  env::Executor& executor = options.executor != nullptr ? *options.executor : inline_executor;
  const auto reserve = std::make_shared<Reserve>(
      fs, executor,
      ReserveOptions{.dir = dir,
                     .log_id = recovered.log_id,
                     .segment_bytes_first = RoundUpSegment(options.segment_bytes_first),
                     .segment_bytes = RoundUpSegment(options.segment_bytes),
                     .target = options.reserve_segments});
  for (FreshSegment& segment : recovered.reserve) reserve->Adopt(std::move(segment));
  reserve->StartAt(recovered.next_segment);
  if (recovered.segments.empty()) {
    SLUICE_ASSIGN_OR_RETURN(FreshSegment first, reserve->Take(0));
    recovered.segments.push_back(Segment{.number = first.number, .bytes = first.bytes});
    recovered.file = std::move(first.file);
    recovered.offset = kSegmentHeaderBytes;
    report->segments = 1;
  }
  auto log =
      std::make_unique<SegmentedLog>(fs, dir, options, std::move(recovered), reserve, applied);
  reserve->Refill();
  return log;
}

}  // namespace sluice::log
