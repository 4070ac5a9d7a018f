// SPDX-License-Identifier: Apache-2.0
#include "log/segment_reader.h"

#include <algorithm>
#include <cstring>

namespace sluice::log {
namespace {

constexpr std::uint64_t kWindowBytes = 1u << 20;

/// Compares the bytes with themselves, shifted by one: as fast as memory, where a
/// loop over the bytes of an unused segment would delay every start.
bool IsAllZero(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

StatusOr<std::string_view> SegmentReader::Peek(std::uint64_t offset, std::uint64_t bytes_max) {
  if (offset >= bytes_) return std::string_view();
  const std::uint64_t wanted = std::min(bytes_max, bytes_ - offset);
  if (offset < window_offset_ || offset + wanted > window_offset_ + window_.size()) {
    window_.resize(std::min(std::max(wanted, window_bytes_), bytes_ - offset));
    window_bytes_ = std::min(window_bytes_ * 2, kWindowBytes);
    window_offset_ = offset;
    StatusOr<std::uint64_t> got = file_->ReadAt(offset, window_.size(), window_.data());
    if (got.ok() && *got != window_.size()) {
      got = Internal("log segment {}: {} bytes at offset {} where {} were expected", segment_, *got,
                     offset, window_.size());
    }
    if (!got.ok()) {
      window_.clear();
      return got.status();
    }
  }
  return std::string_view(window_).substr(offset - window_offset_, wanted);
}

StatusOr<std::optional<SegmentReader::Frame>> SegmentReader::FrameAt(std::uint64_t offset) {
  if (offset + kFrameHeaderBytes > bytes_) return std::optional<Frame>();
  SLUICE_ASSIGN_OR_RETURN(const std::string_view head, Peek(offset, kFrameHeaderBytes));
  const std::optional<FrameHeader> header = DecodeFrameHeader(head);
  if (!header.has_value() || header->position != PositionOf(segment_, offset)) {
    return std::optional<Frame>();
  }
  const std::uint64_t frame_bytes = kFrameHeaderBytes + header->payload_bytes;
  if (frame_bytes > bytes_ - offset) return std::optional<Frame>();
  SLUICE_ASSIGN_OR_RETURN(const std::string_view frame, Peek(offset, frame_bytes));
  if (!IsChecksumRight(*header, frame, log_id_)) return std::optional<Frame>();
  return std::optional<Frame>(Frame{.header = *header,
                                    .payload = frame.substr(kFrameHeaderBytes),
                                    .end = AlignFrame(offset + frame_bytes)});
}

StatusOr<std::optional<std::uint64_t>> SegmentReader::FindFrame(std::uint64_t from) {
  std::uint64_t offset = AlignFrame(from);
  while (offset + kFrameHeaderBytes <= bytes_) {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view window, Peek(offset, kWindowBytes));
    std::uint64_t at = 0;
    if (IsAllZero(window)) {
      if (offset + window.size() >= bytes_) break;
      at = (window.size() - kFrameHeaderBytes) / kFrameAlignment * kFrameAlignment;
    }
    while (at + kFrameHeaderBytes <= window.size() &&
           !ClaimsPosition(window.substr(at), PositionOf(segment_, offset + at))) {
      at += kFrameAlignment;
    }
    offset += at;
    if (at + kFrameHeaderBytes > window.size()) continue;  // next window, from here
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Frame> frame, FrameAt(offset));
    if (frame.has_value()) return std::optional<std::uint64_t>(offset);
    offset += kFrameAlignment;
  }
  return std::optional<std::uint64_t>();
}

StatusOr<std::uint64_t> SegmentReader::NonzeroEnd(std::uint64_t from, std::uint64_t to) {
  std::uint64_t end = from;
  for (std::uint64_t offset = from; offset < to;) {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view window,
                            Peek(offset, std::min(kWindowBytes, to - offset)));
    if (window.empty()) break;
    if (!IsAllZero(window)) end = offset + window.find_last_not_of('\0') + 1;
    offset += window.size();
  }
  return end;
}

}  // namespace sluice::log
