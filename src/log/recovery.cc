// SPDX-License-Identifier: Apache-2.0
// The order of recovery, and the check of the files themselves.
#include "log/recovery.h"

#include <algorithm>
#include <utility>

namespace sluice::log {

Recovery::Recovery(env::FileSystem& fs, std::string dir, const Options& options, Position applied,
                   RecoveryReport* report)
    : fs_(fs), dir_(std::move(dir)), options_(options), applied_(applied), report_(report) {}

StatusOr<RecoveredLog> Recovery::Run(const FrameVisitor& replay) {
  SLUICE_RETURN_IF_ERROR(ListSegments());
  if (found_.empty()) {
    if (applied_ != kBeginning) {
      return LossWithoutChoice(
          fmt::format("the folder holds no segment, but the store has applied frames up to "
                      "position {}; is it the right folder?",
                      applied_));
    }
    return RecoveredLog{.log_id = options_.new_log_id};
  }
  for (Found& found : found_) SLUICE_RETURN_IF_ERROR(CheckHeader(found));
  report_->segments = found_.size();
  while (start_ + 1 < found_.size() && found_[start_ + 1].number <= SegmentOf(applied_)) ++start_;
  SLUICE_RETURN_IF_ERROR(CheckOlderSegments());
  SLUICE_RETURN_IF_ERROR(Scan());
  SLUICE_RETURN_IF_ERROR(Repair());
  SLUICE_RETURN_IF_ERROR(Replay(replay));
  return Finish();
}

Status Recovery::ListSegments() {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs_.List(dir_));
  for (const std::string& name : names) {
    if (IsUnfinishedSegmentFileName(name)) {
      // Never used: a segment gets its final name before its first frame.
      SLUICE_RETURN_IF_ERROR(fs_.Remove(env::JoinPath(dir_, name)));
      continue;
    }
    const std::optional<std::uint32_t> number = ParseSegmentFileName(name);
    if (!number.has_value()) continue;
    SLUICE_ASSIGN_OR_RETURN(const env::FileStat stat, fs_.Stat(env::JoinPath(dir_, name)));
    const std::uint64_t bytes = stat.bytes / kFrameAlignment * kFrameAlignment;
    found_.push_back(Found{.number = *number, .bytes = bytes, .zeros_from = bytes});
  }
  std::sort(found_.begin(), found_.end(),
            [](const Found& a, const Found& b) { return a.number < b.number; });
  return absl::OkStatus();
}

Status Recovery::CheckHeader(Found& found) {
  const std::string path = PathOf(found.number);
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<env::File> file,
                          fs_.Open(path, env::OpenMode::kReadWrite));
  std::string area(kSegmentHeaderBytes, '\0');
  SLUICE_ASSIGN_OR_RETURN(const std::uint64_t got, file->ReadAt(0, area.size(), area.data()));
  const std::string_view view = std::string_view(area).substr(0, got);
  std::optional<SegmentHeader> first;
  std::optional<SegmentHeader> second;
  if (view.size() == kSegmentHeaderBytes) {
    first = DecodeSegmentHeader(view);
    second = DecodeSegmentHeader(view.substr(kSegmentHeaderCopyOffset));
  }
  if (!first.has_value() && !second.has_value()) {
    return LossWithoutChoice(
        fmt::format("{}: neither copy of the segment's header can be read", path));
  }
  const SegmentHeader header = first.has_value() ? *first : *second;
  if (header.version != kFormatVersion) {
    return FailedPrecondition("{} has log format version {}, this build knows version {}", path,
                              header.version, kFormatVersion);
  }
  if (header.segment != found.number) {
    return LossWithoutChoice(
        fmt::format("{} holds segment {}; was it renamed?", path, header.segment));
  }
  if (header.log_id != log_id_.value_or(header.log_id)) {
    return LossWithoutChoice(fmt::format("{} belongs to another log", path));
  }
  log_id_ = header.log_id;
  found.bytes_declared = header.bytes;
  if (first.has_value() && second.has_value()) return absl::OkStatus();
  Warn(fmt::format("{}: one copy of the segment's header was damaged and is written again", path));
  SLUICE_RETURN_IF_ERROR(file->WriteAt(0, EncodeSegmentHeader(header)));
  return file->SyncData();
}

/// Segments below the applied position are not read, but a missing one shows:
/// the first frame of each names a frame in the one before.
Status Recovery::CheckOlderSegments() {
  for (std::size_t i = 1; i <= start_; ++i) {
    Found& older = found_[i - 1];
    older.last = PositionOf(found_[i].number, 0);  // not before its last frame
    const Place place{i, kSegmentHeaderBytes};
    SLUICE_ASSIGN_OR_RETURN(const std::optional<FoundFrame> first, ReadFrame(place));
    if (!first.has_value()) {
      if (i == start_) continue;  // the scan begins here and will judge
      const std::string what = "the first frame of the segment is damaged";
      if (!IsAccepted(At(place))) return Loss(At(place), what);
      Warn(fmt::format("{}: {}, given up as asked", PathOf(found_[i].number), what));
      continue;
    }
    const Position previous = first->header.previous;
    if (first->header.kind == FrameKind::kLost) continue;  // it may not know
    // The very first frame may have been too large for segment 1.
    const bool is_very_first = previous == kBeginning && older.number == 1;
    if (SegmentOf(previous) == older.number || is_very_first) {
      older.last = previous;
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const bool is_known, EndsInLostMark(i - 1));
    if (is_known) continue;
    const std::string what = fmt::format(
        "the segments between {} and {} are missing, which held frames up to position {}",
        older.number, found_[i].number, previous);
    if (!IsAccepted(At(place))) return Loss(At(place), what);
    Warn(fmt::format("{}: {}, given up as asked", dir_, what));
  }
  return absl::OkStatus();
}

StatusOr<bool> Recovery::EndsInLostMark(std::size_t index) {
  bool is_mark = false;
  Place place{index, kSegmentHeaderBytes};
  for (;;) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<FoundFrame> frame, ReadFrame(place));
    if (!frame.has_value()) return is_mark;
    is_mark = frame->header.kind == FrameKind::kLost;
    place.offset = frame->end;
  }
}

StatusOr<SegmentReader*> Recovery::ReaderOf(std::size_t index) {
  if (reader_ == nullptr || reader_index_ != index) {
    const Found& found = found_[index];
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                            fs_.Open(PathOf(found.number), env::OpenMode::kReadWrite));
    reader_ = std::make_unique<SegmentReader>(std::move(file), found.number, found.bytes, *log_id_);
    reader_index_ = index;
  }
  return reader_.get();
}

StatusOr<std::uint64_t> Recovery::GarbageEnd(Place from) {
  Found& found = found_[from.index];
  if (from.offset >= found.zeros_from) return from.offset;
  SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(from.index));
  SLUICE_ASSIGN_OR_RETURN(const std::uint64_t end,
                          reader->NonzeroEnd(from.offset, found.zeros_from));
  found.zeros_from = end;
  return end;
}

Position Recovery::At(Place place) const {
  return PositionOf(found_[place.index].number, place.offset);
}

std::optional<Recovery::Place> Recovery::PlaceOf(Position position) const {
  for (std::size_t i = start_; i < found_.size(); ++i) {
    if (found_[i].number != SegmentOf(position)) continue;
    if (OffsetOf(position) < found_[i].bytes) return Place{i, OffsetOf(position)};
  }
  return std::nullopt;
}

Recovery::Place Recovery::EndOfLog() const { return Place{found_.size() - 1, found_.back().bytes}; }

std::string Recovery::PathOf(std::uint32_t number) const {
  return env::JoinPath(dir_, SegmentFileName(number));
}

bool Recovery::IsAccepted(Position lost) const {
  const std::vector<Position>& accepted = options_.accept_loss_at;
  return std::find(accepted.begin(), accepted.end(), lost) != accepted.end();
}

Status Recovery::Loss(Position at, const std::string& what) const {
  return DataLoss(
      "log {}, offset {}: {}. To go on, restore the last backup; or start with "
      "--accept-log-loss {} to give up what is named here and keep everything else",
      PathOf(SegmentOf(at)), OffsetOf(at), what, at);
}

Status Recovery::LossWithoutChoice(const std::string& what) const {
  return DataLoss("log {}: {}. To go on, put the right files back or restore the last backup", dir_,
                  what);
}

}  // namespace sluice::log
