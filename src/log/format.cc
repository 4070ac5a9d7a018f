// SPDX-License-Identifier: Apache-2.0
#include "log/format.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <cstring>

#include "base/codec.h"

namespace sluice::log {
namespace {

constexpr std::string_view kMagic = "SLUICLOG";
constexpr std::string_view kSuffix = ".log";
constexpr std::string_view kUnfinishedSuffix = ".log.new";
constexpr std::size_t kNumberDigits = 10;

constexpr std::uint8_t kFrameVersion = 1;
constexpr std::uint8_t kStrictFlag = 1;
constexpr std::uint64_t kChecksumBytes = 8;
constexpr std::uint64_t kFramePositionOffset = 16;

/// Added to every checksum, so that a run of equal bytes, zeros above all, is not
/// its own checksum.
constexpr std::uint64_t kChecksumMask = 0x5EA1'ED10'6F4A'9D37;

std::uint64_t Checksum(std::string_view bytes, std::uint64_t key) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), key) ^ kChecksumMask;
}

/// What the checksum of a frame covers: all that follows it, or the header alone
/// where the payload is the damage itself.
std::string_view Covered(const FrameHeader& header, std::string_view frame) {
  frame.remove_prefix(kChecksumBytes);
  if (IsMark(header.kind)) return frame.substr(0, kFrameHeaderBytes - kChecksumBytes);
  return frame;
}

}  // namespace

std::string SegmentFileName(std::uint32_t segment) {
  return fmt::format("{:010}{}", segment, kSuffix);
}

std::optional<std::uint32_t> ParseSegmentFileName(std::string_view name) {
  if (name.size() != kNumberDigits + kSuffix.size() || !name.ends_with(kSuffix)) return {};
  std::uint32_t segment = 0;
  const char* end = name.data() + kNumberDigits;
  const auto [stop, error] = std::from_chars(name.data(), end, segment);
  if (error != std::errc() || stop != end || segment == 0) return {};
  return segment;
}

bool IsUnfinishedSegmentFileName(std::string_view name) {
  return name.size() == kNumberDigits + kUnfinishedSuffix.size() &&
         name.ends_with(kUnfinishedSuffix);
}

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  std::string one;
  ByteWriter writer(&one);
  writer.Raw(kMagic);
  writer.U32(header.version);
  writer.U32(header.segment);
  writer.U64(header.log_id);
  writer.U64(header.bytes);
  writer.U64(Checksum(one, 0));
  SLUICE_CHECK(one.size() == kSegmentHeaderEncodedBytes, "segment header size");
  std::string area(kSegmentHeaderBytes, '\0');
  area.replace(0, one.size(), one);
  area.replace(kSegmentHeaderCopyOffset, one.size(), one);
  return area;
}

std::optional<SegmentHeader> DecodeSegmentHeader(std::string_view bytes) {
  ByteReader reader(bytes.substr(0, kSegmentHeaderEncodedBytes));
  if (reader.Raw(kMagic.size()) != kMagic) return {};
  SegmentHeader header;
  header.version = reader.U32();
  header.segment = reader.U32();
  header.log_id = reader.U64();
  header.bytes = reader.U64();
  const std::uint64_t checksum = reader.U64();
  if (!reader.done()) return {};
  const std::string_view covered = bytes.substr(0, kSegmentHeaderEncodedBytes - kChecksumBytes);
  if (checksum != Checksum(covered, 0)) return {};
  return header;
}

void EncodeFrame(const FrameHeader& header, std::string_view payload, std::uint64_t log_id,
                 std::string* out) {
  out->clear();
  out->reserve(FrameBytes(payload.size()));
  ByteWriter writer(out);
  writer.U64(0);  // the checksum, known at the end
  writer.U8(kFrameVersion);
  writer.U8(static_cast<std::uint8_t>(header.kind));
  writer.U8(header.is_strict ? kStrictFlag : 0);
  writer.U8(0);
  writer.U32(header.payload_bytes);
  writer.U64(header.position);
  writer.U64(header.previous);
  writer.U64(header.synced);
  writer.Raw(payload);
  const std::uint64_t checksum = Checksum(Covered(header, *out), log_id);
  std::memcpy(out->data(), &checksum, sizeof checksum);
  out->resize(AlignFrame(out->size()), '\0');
}

std::optional<FrameHeader> DecodeFrameHeader(std::string_view bytes) {
  ByteReader reader(bytes.substr(0, kFrameHeaderBytes));
  reader.U64();
  if (reader.U8() != kFrameVersion) return {};
  const std::uint8_t kind = reader.U8();
  if (kind < static_cast<std::uint8_t>(FrameKind::kData) ||
      kind > static_cast<std::uint8_t>(FrameKind::kTorn)) {
    return {};
  }
  const std::uint8_t flags = reader.U8();
  if ((flags & ~kStrictFlag) != 0 || reader.U8() != 0) return {};
  FrameHeader header;
  header.kind = FrameKind{kind};
  header.is_strict = (flags & kStrictFlag) != 0;
  header.payload_bytes = reader.U32();
  header.position = reader.U64();
  header.previous = reader.U64();
  header.synced = reader.U64();
  if (!reader.done()) return {};
  return header;
}

bool IsChecksumRight(const FrameHeader& header, std::string_view frame, std::uint64_t log_id) {
  ByteReader reader(frame);
  return reader.U64() == Checksum(Covered(header, frame), log_id);
}

bool ClaimsPosition(std::string_view bytes, Position position) {
  std::uint64_t claimed = 0;
  std::memcpy(&claimed, bytes.data() + kFramePositionOffset, sizeof claimed);
  return claimed == position;
}

}  // namespace sluice::log
