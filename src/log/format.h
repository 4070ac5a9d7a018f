// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of the log: names, positions, segment headers and frames, as
// docs/format/log.md lays down. Encoding and checking only; what damage means
// is decided in recovery.h.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "log/log.h"

namespace sluice::log {

inline constexpr std::uint32_t kFormatVersion = 1;
/// Frames begin here, so that no write of a frame touches the header's page.
inline constexpr std::uint64_t kSegmentHeaderBytes = 4096;
/// The header is there twice, in two sectors; either is enough.
inline constexpr std::uint64_t kSegmentHeaderCopyOffset = 2048;
inline constexpr std::uint64_t kSegmentHeaderEncodedBytes = 40;
/// Segment sizes are multiples of this.
inline constexpr std::uint64_t kSegmentGranuleBytes = 4096;
/// Offsets must fit the low half of a position with room to spare.
inline constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{1} << 31;

inline constexpr std::uint64_t kFrameHeaderBytes = 40;
inline constexpr std::uint64_t kFrameAlignment = 8;
/// Kept free behind every data frame: for a seal and for a mark, so that neither
/// ever needs another segment.
inline constexpr std::uint64_t kSegmentTailBytes = 2 * kFrameHeaderBytes;

[[nodiscard]] constexpr Position PositionOf(std::uint32_t segment, std::uint64_t offset) {
  return (Position{segment} << 32) | offset;
}
[[nodiscard]] constexpr std::uint32_t SegmentOf(Position position) {
  return static_cast<std::uint32_t>(position >> 32);
}
[[nodiscard]] constexpr std::uint64_t OffsetOf(Position position) { return position & 0xFFFFFFFFu; }
[[nodiscard]] constexpr std::uint64_t AlignFrame(std::uint64_t offset) {
  return (offset + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}
/// What a frame takes up in its segment.
[[nodiscard]] constexpr std::uint64_t FrameBytes(std::uint64_t payload_bytes) {
  return AlignFrame(kFrameHeaderBytes + payload_bytes);
}

/// "0000000007.log" for segment 7; a file still being prepared ends in ".new".
[[nodiscard]] std::string SegmentFileName(std::uint32_t segment);
[[nodiscard]] std::optional<std::uint32_t> ParseSegmentFileName(std::string_view name);
[[nodiscard]] bool IsUnfinishedSegmentFileName(std::string_view name);

struct SegmentHeader {
  std::uint32_t version = kFormatVersion;
  std::uint32_t segment = 0;
  std::uint64_t log_id = 0;
  std::uint64_t bytes = 0;  // of the file when made; a large frame may extend it
};

/// The whole header area, both copies in place.
[[nodiscard]] std::string EncodeSegmentHeader(const SegmentHeader& header);
/// Reads one copy. Nothing when magic or checksum do not match; the version is
/// not judged.
[[nodiscard]] std::optional<SegmentHeader> DecodeSegmentHeader(std::string_view bytes);

enum class FrameKind : std::uint8_t {
  kData = 1,
  kSeal = 2,  // says that everything before it is on disk; carries nothing
  kLost = 3,  // covers damaged bytes that an operator gave up; its payload is not checked
  kTorn = 4,  // covers a torn frame that recovery cut; its payload is not checked
};

struct FrameHeader {
  FrameKind kind = FrameKind::kData;
  /// The writer waited for each sync: that this frame was begun proves that all
  /// before it are on disk. False under Durability::kOs.
  bool is_strict = true;
  std::uint32_t payload_bytes = 0;
  Position position = kBeginning;
  Position previous = kBeginning;  // the data frame before this one
  Position synced = kBeginning;    // the last data frame known to be on disk
};

/// Puts the frame, padded, into `out` (replacing its content). The checksum is
/// keyed by `log_id`, so that bytes of another log never verify.
void EncodeFrame(const FrameHeader& header, std::string_view payload, std::uint64_t log_id,
                 std::string* out);

/// Marks cover bytes that are no frame.
[[nodiscard]] constexpr bool IsMark(FrameKind kind) {
  return kind == FrameKind::kLost || kind == FrameKind::kTorn;
}

/// The fields as they stand, unverified; nothing when version, kind or reserved
/// bits cannot be right. Requires: kFrameHeaderBytes bytes.
[[nodiscard]] std::optional<FrameHeader> DecodeFrameHeader(std::string_view bytes);

/// Whether `frame` (header and payload, no padding) carries its right checksum.
[[nodiscard]] bool IsChecksumRight(const FrameHeader& header, std::string_view frame,
                                   std::uint64_t log_id);

/// Cheap first test of a search: do these bytes claim to be at `position`?
[[nodiscard]] bool ClaimsPosition(std::string_view bytes, Position position);

}  // namespace sluice::log
