// SPDX-License-Identifier: Apache-2.0
// Reading the frames, and telling damage from a torn tail.
#include <algorithm>
#include <utility>

#include "log/recovery.h"

namespace sluice::log {

Status Recovery::Scan() {
  Place place{start_, kSegmentHeaderBytes};
  end_ = place;
  // Segment 1 is the only one that nothing came before.
  if (found_[start_].number == 1) last_ = kBeginning;
  for (;;) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<FoundFrame> frame, ReadFrame(place));
    if (frame.has_value()) {
      SLUICE_RETURN_IF_ERROR(TakeFrame(*frame));
      place.offset = frame->end;
      // Behind given-up bytes the log goes on where their mark says.
      const std::optional<Place> resume = PlaceOf(resume_);
      if (resume.has_value() && *resume != place) {
        jumps_[At(place)] = *resume;
        place = *resume;
      }
      continue;
    }
    std::optional<FoundFrame> next;
    if (place.index + 1 < found_.size() && last_.has_value()) {
      // The usual reason: the next frame went to the next segment. Its link says
      // that nothing is missing, so the rest of this one need not be searched.
      SLUICE_ASSIGN_OR_RETURN(next, ReadFrame(Place{place.index + 1, kSegmentHeaderBytes}));
      if (next.has_value() && next->header.previous != *last_) next.reset();
    }
    if (!next.has_value()) {
      SLUICE_ASSIGN_OR_RETURN(next, FindNext(place));
      if (!next.has_value()) {
        SLUICE_RETURN_IF_ERROR(HandleEnd(place));
        break;
      }
      bool is_cut = false;
      SLUICE_RETURN_IF_ERROR(HandleGap(place, *next, &is_cut));
      if (is_cut) break;
    } else {
      jumps_[At(place)] = next->place;
    }
    place = next->place;
  }
  return CheckAppliedIsAFrame();
}

Status Recovery::TakeFrame(const FoundFrame& frame) {
  const FrameHeader& header = frame.header;
  const Position position = header.position;
  std::string broken;
  if (resume_ != kBeginning && position >= resume_ && header.previous < resume_) {
    last_ = header.previous;  // given up
  } else if (!first_.has_value() && header.previous > applied_) {
    broken = fmt::format(
        "this is the oldest frame of the log, but the store has applied only position {} of the "
        "frames before it, which reach to position {}",
        applied_, header.previous);
  } else if (last_.has_value() && header.kind != FrameKind::kLost && header.previous != *last_) {
    broken = fmt::format("the frame names position {} as the one before it, but that is {}",
                         header.previous, *last_);
  }
  if (!broken.empty()) {
    if (!IsAccepted(position)) return Loss(position, broken);
    Warn(fmt::format("log position {}: {}; given up as asked", position, broken));
    has_loss_ = true;
  }
  if (!first_.has_value()) first_ = position;
  resume_ = kBeginning;

  Found& found = found_[frame.place.index];
  switch (header.kind) {
    case FrameKind::kData:
      last_ = position;
      found.last = position;
      is_sealed_ = false;
      if (position == applied_) has_applied_ = true;
      if (position > applied_) ++frames_to_replay_;
      break;
    case FrameKind::kSeal:
      is_sealed_ = true;
      break;
    case FrameKind::kLost:
      last_ = position;
      found.last = position;
      is_sealed_ = false;
      resume_ = header.synced;
      has_loss_ = true;
      Warn(fmt::format("log position {}: {} bytes were given up at an earlier start", position,
                       header.payload_bytes));
      // Frames follow that were there before the mark, so it is not the last frame
      // and not written again as such; only the cache may hold it.
      marks_.push_back(Mark{header.kind, frame.place, frame.end, header.previous, header.synced});
      break;
    case FrameKind::kTorn:
      is_sealed_ = false;
      break;
  }
  if (header.kind != FrameKind::kLost) {
    synced_ = std::max(synced_, header.synced);
    if (header.kind != FrameKind::kTorn) is_last_strict_ = header.is_strict;
  }
  end_ = Place{frame.place.index, frame.end};
  return absl::OkStatus();
}

/// No frame at `place`, but an intact one later.
Status Recovery::HandleGap(Place place, const FoundFrame& next, bool* is_cut) {
  SLUICE_ASSIGN_OR_RETURN(const Place damage, PlaceOfDamage(place, next));
  if (damage != place) jumps_[At(place)] = damage;
  place = damage;
  const Position at = At(place);
  if (next.header.previous < at) {
    // Every data frame is there; what is unreadable carried nothing.
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Place> garbage, LastGarbage(place, next.place));
    if (garbage.has_value() || place.index == next.place.index) {
      Warn(
          fmt::format("log {}, offset {}: a seal or unused bytes were damaged; no frame is missing",
                      PathOf(SegmentOf(at)), place.offset));
    }
    jumps_[at] = next.place;
    return absl::OkStatus();
  }

  SLUICE_ASSIGN_OR_RETURN(const bool is_proven, IsProvenAfter(next, at));
  const std::string what = fmt::format(
      "a frame that had been written to disk is damaged or missing, as the intact frame at "
      "position {} proves; lost are the frames after position {} up to position {}",
      next.header.position, last_.value_or(applied_), next.header.previous);
  if (is_proven && !IsAccepted(at)) return Loss(at, what);
  if (!is_proven) {
    // Written without waiting for syncs (Durability::kOs): a power cut may take
    // one frame and leave a later one, which is worth nothing alone.
    report_->cut_reason = fmt::format(
        "log {}, offset {}: frames written without waiting for the disk were lost in part; "
        "everything from here on is cut",
        PathOf(SegmentOf(at)), place.offset);
    *is_cut = true;
    if (applied_ < at) return CutAt(place);
    EndBelowApplied(place, report_->cut_reason);
    return absl::OkStatus();
  }
  const bool is_same = place.index == next.place.index;
  GiveUp(place, is_same ? next.place.offset : found_[place.index].bytes, next.header.position,
         what);
  jumps_[at] = next.place;
  return absl::OkStatus();
}

/// Where to say that the damage is: a segment that ends in zeros was left for the
/// next one, so a frame missing between the two is the first of that.
StatusOr<Recovery::Place> Recovery::PlaceOfDamage(Place place, const FoundFrame& next) {
  while (place.index < next.place.index) {
    const Found& found = found_[place.index];
    const Place head{place.index + 1, kSegmentHeaderBytes};
    const bool is_next_there = found_[head.index].number == found.number + 1;
    if (!is_next_there || next.header.previous < At(head)) break;
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Place> garbage,
                            LastGarbage(place, Place{place.index, found.bytes}));
    if (garbage.has_value()) break;
    place = head;
  }
  return place;
}

/// No frame at `place`, and no intact one later.
Status Recovery::HandleEnd(Place place) {
  const Position at = At(place);
  SLUICE_ASSIGN_OR_RETURN(const std::optional<Place> garbage, LastGarbage(place, EndOfLog()));

  std::string lost;
  bool is_expected = false;
  if (applied_ >= at) {
    lost = fmt::format(
        "the readable log ends here, but the store has applied frames up to position {}; lost are "
        "the frames from position {} on, of which the store holds what it applied",
        applied_, at);
    // Under kOs the store may be ahead after a power cut; its own content is whole.
    is_expected = !is_last_strict_ || options_.durability == Durability::kOs;
  } else if (!first_.has_value() && found_[start_].number > 1) {
    lost = fmt::format(
        "no frame of the oldest segment can be read, though older segments are dropped only when "
        "it has one on disk; lost are the frames from position {} on",
        at);
  } else if (resume_ != kBeginning) {
    lost = fmt::format(
        "an earlier start gave up bytes and went on at position {}, but no frame is there; lost "
        "are the frames from there on",
        resume_);
  } else if (garbage.has_value()) {
    // Where the broken frame begins: here, or at the head of the next segment.
    Place tear = place;
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Place> here,
                            LastGarbage(place, Place{place.index, found_[place.index].bytes}));
    if (!here.has_value()) tear = Place{garbage->index, kSegmentHeaderBytes};
    SLUICE_ASSIGN_OR_RETURN(lost, ProofOfTornFrame(tear, *garbage));
    if (lost.empty()) {
      report_->cut_reason = fmt::format(
          "log {}, offset {}: the last frame was not written completely, hence never acknowledged",
          PathOf(found_[tear.index].number), tear.offset);
      return CutAt(place);
    }
    if (tear != place) jumps_[at] = tear;
    place = tear;
  } else {
    return absl::OkStatus();
  }

  if (!is_expected && !IsAccepted(At(place))) return Loss(At(place), lost);
  EndBelowApplied(place, lost);
  return absl::OkStatus();
}

/// Says why a frame broken at `tear` must have been on disk; empty when a crash
/// while it was written explains everything.
StatusOr<std::string> Recovery::ProofOfTornFrame(Place tear, Place garbage_end) {
  if (garbage_end.index != tear.index) {
    return fmt::format(
        "a damaged frame, with a frame begun in segment {} behind it, which proves that it had "
        "been written to disk; both are lost",
        found_[garbage_end.index].number);
  }
  SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(tear.index));
  SLUICE_ASSIGN_OR_RETURN(const std::string_view head,
                          reader->Peek(tear.offset, kFrameHeaderBytes));
  // Kind, flags and length lie in one aligned word, which a crash writes whole or
  // not at all.
  const std::optional<FrameHeader> header = DecodeFrameHeader(head);
  if (!header.has_value() || !header->is_strict) return std::string();
  if (garbage_end.offset <= tear.offset + FrameBytes(header->payload_bytes)) return std::string();
  return fmt::format(
      "a damaged frame of {} bytes, with a frame begun behind it, which proves that it had been "
      "written to disk; both are lost",
      header->payload_bytes);
}

void Recovery::GiveUp(Place place, std::uint64_t end, Position resume, const std::string& what) {
  const Position at = At(place);
  Warn(fmt::format("log {}, offset {}: {}; given up", PathOf(SegmentOf(at)), place.offset, what));
  has_loss_ = true;
  if (end - place.offset >= kFrameHeaderBytes) {
    marks_.push_back(Mark{FrameKind::kLost, place, end, last_.value_or(kBeginning), resume});
    last_ = at;
    found_[place.index].last = at;
  }
  resume_ = resume;
  is_sealed_ = false;
}

/// Ends the log at `place`, although later positions were used: whatever comes next
/// must be above them, hence in a later segment.
void Recovery::EndBelowApplied(Place place, const std::string& what) {
  GiveUp(place, found_[place.index].bytes, kBeginning, what);
  end_ = place;
  must_move_on_ = true;
}

/// Ends the log at `place`: what follows in its segment goes under a mark, later
/// segments that are not empty will be removed.
Status Recovery::CutAt(Place place) {
  for (std::size_t i = place.index; i < found_.size(); ++i) {
    const std::uint64_t from = i == place.index ? place.offset : kSegmentHeaderBytes;
    SLUICE_ASSIGN_OR_RETURN(const std::uint64_t to, GarbageEnd(Place{i, from}));
    report_->bytes_cut += to - from;
    if (i != place.index || to == from) continue;
    // Without room for a header, nothing can be taken for a frame there either.
    if (found_[i].bytes - from < kFrameHeaderBytes) continue;
    const std::uint64_t end = std::max(AlignFrame(to), from + kFrameHeaderBytes);
    const Position last = last_.value_or(kBeginning);
    marks_.push_back(Mark{FrameKind::kTorn, place, end, last, last});
    end_ = Place{place.index, end};
    is_sealed_ = false;
  }
  return absl::OkStatus();
}

Status Recovery::CheckAppliedIsAFrame() const {
  const bool is_in_range = first_.has_value() && applied_ >= *first_;
  if (!is_in_range || has_applied_ || has_loss_) return absl::OkStatus();
  return LossWithoutChoice(
      fmt::format("the store has applied up to position {}, where the log has no frame; store and "
                  "log do not belong together",
                  applied_));
}

StatusOr<std::optional<Recovery::FoundFrame>> Recovery::ReadFrame(Place place) {
  SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(place.index));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<SegmentReader::Frame> frame,
                          reader->FrameAt(place.offset));
  if (!frame.has_value()) return std::optional<FoundFrame>();
  return std::optional<FoundFrame>(FoundFrame{place, frame->header, frame->end});
}

StatusOr<std::optional<Recovery::FoundFrame>> Recovery::FindNext(Place from) {
  for (; from.index < found_.size(); from = Place{from.index + 1, kSegmentHeaderBytes}) {
    SLUICE_ASSIGN_OR_RETURN(const std::uint64_t end, GarbageEnd(from));
    if (end == from.offset) continue;
    SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(from.index));
    SLUICE_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> offset,
                            reader->FindFrame(from.offset));
    if (offset.has_value()) return ReadFrame(Place{from.index, *offset});
  }
  return std::optional<FoundFrame>();
}

StatusOr<bool> Recovery::IsProvenAfter(FoundFrame frame, Position lost) {
  for (;;) {
    const FrameHeader& header = frame.header;
    if (header.kind != FrameKind::kLost && header.synced >= lost) return true;
    SLUICE_ASSIGN_OR_RETURN(const std::optional<FoundFrame> next,
                            FindNext(Place{frame.place.index, frame.end}));
    if (!next.has_value()) return false;
    frame = *next;
  }
}

StatusOr<std::optional<Recovery::Place>> Recovery::LastGarbage(Place from, Place to) {
  std::optional<Place> last;
  for (; from.index <= to.index; from = Place{from.index + 1, kSegmentHeaderBytes}) {
    std::uint64_t end = from.offset;
    if (from.index < to.index || to.offset == found_[to.index].bytes) {
      SLUICE_ASSIGN_OR_RETURN(end, GarbageEnd(from));
    } else {
      SLUICE_ASSIGN_OR_RETURN(SegmentReader* const reader, ReaderOf(from.index));
      SLUICE_ASSIGN_OR_RETURN(end, reader->NonzeroEnd(from.offset, to.offset));
    }
    if (end > from.offset) last = Place{from.index, end};
  }
  return last;
}

}  // namespace sluice::log
