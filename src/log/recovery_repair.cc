// SPDX-License-Identifier: Apache-2.0
// Making the tail on disk what the scan decided, then replaying.
#include <algorithm>
#include <utility>

#include "log/recovery.h"

namespace sluice::log {
namespace {

constexpr std::uint64_t kCopyBytes = 1u << 20;

}  // namespace

/// Until this returned, nothing read may be acted on: after a kill, and above all
/// after a failed sync, pages that read well may never have reached the disk.
Status Recovery::Repair() {
  SLUICE_RETURN_IF_ERROR(RewriteTail());
  SLUICE_RETURN_IF_ERROR(WriteMarks());
  SLUICE_RETURN_IF_ERROR(ZeroTornBytes());
  SLUICE_RETURN_IF_ERROR(RemoveUselessSegments());
  reader_.reset();  // its window shows what was there before
  return fs_.SyncDirectory(dir_);
}

/// Writes again every frame that no later frame proves to be on disk: the last
/// one, or under kOs all since the last real sync. Segments before the last were
/// synced when they were left.
Status Recovery::RewriteTail() {
  if (!first_.has_value()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(end_.index));
  std::uint64_t offset = kSegmentHeaderBytes;
  if (SegmentOf(synced_) == reader->segment()) offset = OffsetOf(synced_);
  while (offset < end_.offset) {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view bytes,
                            reader->Peek(offset, std::min(kCopyBytes, end_.offset - offset)));
    SLUICE_RETURN_IF_ERROR(reader->file().WriteAt(offset, bytes));
    offset += bytes.size();
  }
  return reader->file().SyncData();
}

Status Recovery::WriteMarks() {
  for (const Mark& mark : marks_) {
    const std::uint64_t payload_bytes = mark.end - mark.place.offset - kFrameHeaderBytes;
    const FrameHeader header{.kind = mark.kind,
                             .payload_bytes = static_cast<std::uint32_t>(payload_bytes),
                             .position = At(mark.place),
                             .previous = mark.previous,
                             .synced = mark.synced};
    std::string encoded;
    EncodeFrame(header, {}, *log_id_, &encoded);
    SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(mark.place.index));
    SLUICE_RETURN_IF_ERROR(reader->file().WriteAt(mark.place.offset, encoded));
    SLUICE_RETURN_IF_ERROR(reader->file().SyncData());
    reader_.reset();
  }
  return absl::OkStatus();
}

/// Nothing rests on these zeros while the mark can be read. They take care of the
/// day when it cannot: then the search for frames must not find remainders.
Status Recovery::ZeroTornBytes() {
  for (const Mark& mark : marks_) {
    if (mark.kind != FrameKind::kTorn) continue;
    const std::uint64_t from = mark.place.offset + kFrameHeaderBytes;
    SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(mark.place.index));
    SLUICE_RETURN_IF_ERROR(reader->file().ZeroAt(from, mark.end - from));
    SLUICE_RETURN_IF_ERROR(reader->file().SyncData());
  }
  return absl::OkStatus();
}

/// Segments behind the last one with remainders of a cut frame. Those that are all
/// zeros stay as the reserve; they lie above the applied position, since the scan
/// began at or above it.
Status Recovery::RemoveUselessSegments() {
  for (std::size_t i = end_.index + 1; i < found_.size(); ++i) {
    Found& found = found_[i];
    SLUICE_ASSIGN_OR_RETURN(const std::uint64_t end, GarbageEnd(Place{i, kSegmentHeaderBytes}));
    if (end == kSegmentHeaderBytes) continue;
    SLUICE_RETURN_IF_ERROR(fs_.Remove(PathOf(found.number)));
    found.is_removed = true;
  }
  return absl::OkStatus();
}

Status Recovery::Replay(const FrameVisitor& visit) {
  std::uint64_t frames = 0;
  for (Place place{start_, kSegmentHeaderBytes}; place != end_;) {
    if (const auto jump = jumps_.find(At(place)); jump != jumps_.end()) {
      place = jump->second;
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(place.index));
    SLUICE_ASSIGN_OR_RETURN(const std::optional<SegmentReader::Frame> frame,
                            reader->FrameAt(place.offset));
    if (!frame.has_value()) {
      return Internal("log {}, offset {}: a frame that was just read cannot be read again",
                      PathOf(found_[place.index].number), place.offset);
    }
    place.offset = frame->end;
    if (frame->header.kind != FrameKind::kData || frame->header.position <= applied_) continue;
    ++frames;
    report_->bytes_replayed += frame->payload.size();
    if (visit) SLUICE_RETURN_IF_ERROR(visit(frame->header.position, frame->payload));
  }
  SLUICE_CHECK(frames == frames_to_replay_, "replay must visit the frames the scan found");
  report_->frames_replayed = frames;
  return absl::OkStatus();
}

StatusOr<RecoveredLog> Recovery::Finish() {
  RecoveredLog log{.log_id = *log_id_, .last = last_.value_or(kBeginning), .is_sealed = is_sealed_};
  for (std::size_t i = 0; i <= end_.index; ++i) {
    const Found& found = found_[i];
    const bool is_unknown = i < end_.index && found.last == kBeginning;
    log.segments.push_back(
        Segment{.number = found.number,
                .bytes = found.bytes,
                .last = is_unknown ? PositionOf(found.number + 1, 0) : found.last});
  }

  SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(end_.index));
  log.file = reader->ReleaseFile();
  reader_.reset();
  Segment& current = log.segments.back();
  log.offset = must_move_on_ ? current.bytes : end_.offset;
  // The copy of a segment in a backup ends behind its last frame: make room again.
  const std::uint64_t room = is_sealed_ ? kSegmentTailBytes - kFrameHeaderBytes : kSegmentTailBytes;
  const std::uint64_t bytes = std::max(found_[end_.index].bytes_declared, log.offset + room);
  if (!must_move_on_ && current.bytes < bytes) {
    SLUICE_RETURN_IF_ERROR(log.file->ZeroAt(current.bytes, bytes - current.bytes));
    SLUICE_RETURN_IF_ERROR(log.file->SyncData());
    current.bytes = bytes;
  }

  log.next_segment = found_.back().number + 1;
  if (must_move_on_) log.next_segment = std::max(log.next_segment, SegmentOf(applied_) + 1);
  for (std::size_t i = end_.index + 1; i < found_.size(); ++i) {
    const Found& found = found_[i];
    if (found.is_removed) continue;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                            fs_.Open(PathOf(found.number), env::OpenMode::kReadWrite));
    log.reserve.push_back(
        FreshSegment{.number = found.number, .bytes = found.bytes, .file = std::move(file)});
  }
  return log;
}

}  // namespace sluice::log
