// SPDX-License-Identifier: Apache-2.0
// Proves that frames and headers read back, that no single flipped bit of a frame
// goes unnoticed, and that zeros and other logs' bytes never verify.
#include "log/format.h"

#include <gtest/gtest.h>

#include "base/codec.h"

namespace sluice::log {
namespace {

constexpr std::uint64_t kLogId = 7;

const FrameHeader kHeader{.kind = FrameKind::kData,
                          .is_strict = true,
                          .payload_bytes = 5,
                          .position = PositionOf(3, 4096),
                          .previous = PositionOf(2, 8000),
                          .synced = PositionOf(2, 8000)};
constexpr std::string_view kPayload = "hello";

bool Verifies(std::string_view frame, std::uint64_t log_id) {
  const std::optional<FrameHeader> header = DecodeFrameHeader(frame);
  if (!header.has_value() || header->position != kHeader.position) return false;
  const std::uint64_t bytes = kFrameHeaderBytes + header->payload_bytes;
  return bytes <= frame.size() && IsChecksumRight(*header, frame.substr(0, bytes), log_id);
}

TEST(LogFormat, FrameReadsBackAndIsPaddedWithZeros) {
  std::string frame;
  EncodeFrame(kHeader, kPayload, kLogId, &frame);
  EXPECT_EQ(frame.size(), FrameBytes(kPayload.size()));
  EXPECT_EQ(frame.size(), 48u);
  EXPECT_EQ(frame.substr(45), std::string(3, '\0'));
  const std::optional<FrameHeader> header = DecodeFrameHeader(frame);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->kind, FrameKind::kData);
  EXPECT_TRUE(header->is_strict);
  EXPECT_EQ(header->payload_bytes, 5u);
  EXPECT_EQ(header->position, kHeader.position);
  EXPECT_EQ(header->previous, kHeader.previous);
  EXPECT_EQ(header->synced, kHeader.synced);
  EXPECT_TRUE(Verifies(frame, kLogId));
}

TEST(LogFormat, EveryFlippedBitOfAFrameIsNoticed) {
  std::string frame;
  EncodeFrame(kHeader, kPayload, kLogId, &frame);
  for (std::size_t bit = 0; bit < (kFrameHeaderBytes + kPayload.size()) * 8; ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(Verifies(flipped, kLogId)) << "bit " << bit;
  }
}

TEST(LogFormat, ZerosAndOtherLogsNeverVerify) {
  std::string frame;
  EncodeFrame(kHeader, kPayload, kLogId, &frame);
  EXPECT_FALSE(Verifies(frame, kLogId + 1));
  EXPECT_FALSE(Verifies(std::string(frame.size(), '\0'), kLogId));
  EXPECT_FALSE(DecodeFrameHeader(std::string(kFrameHeaderBytes, '\0')).has_value());
}

TEST(LogFormat, FrameLayoutIsTheDocumentedOne) {
  std::string frame;
  EncodeFrame(kHeader, kPayload, kLogId, &frame);
  ByteReader reader(frame);
  reader.U64();                 // checksum
  EXPECT_EQ(reader.U8(), 1);    // version
  EXPECT_EQ(reader.U8(), 1);    // kind
  EXPECT_EQ(reader.U8(), 1);    // flags
  EXPECT_EQ(reader.U8(), 0);    // reserved
  EXPECT_EQ(reader.U32(), 5u);  // payload bytes
  EXPECT_EQ(reader.U64(), (std::uint64_t{3} << 32) + 4096);
  EXPECT_EQ(reader.U64(), (std::uint64_t{2} << 32) + 8000);
  EXPECT_EQ(reader.U64(), (std::uint64_t{2} << 32) + 8000);
  EXPECT_EQ(reader.Raw(5), "hello");
}

TEST(LogFormat, SegmentHeaderIsThereTwiceAndEachCopyIsChecked) {
  const SegmentHeader header{.segment = 9, .log_id = kLogId, .bytes = 1 << 20};
  const std::string area = EncodeSegmentHeader(header);
  ASSERT_EQ(area.size(), kSegmentHeaderBytes);
  for (const std::uint64_t at : {std::uint64_t{0}, kSegmentHeaderCopyOffset}) {
    const std::optional<SegmentHeader> read =
        DecodeSegmentHeader(std::string_view(area).substr(at));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->version, kFormatVersion);
    EXPECT_EQ(read->segment, 9u);
    EXPECT_EQ(read->log_id, kLogId);
    EXPECT_EQ(read->bytes, 1u << 20);
  }
  for (std::size_t bit = 0; bit < kSegmentHeaderEncodedBytes * 8; ++bit) {
    std::string flipped = area;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodeSegmentHeader(flipped).has_value()) << "bit " << bit;
  }
  EXPECT_FALSE(DecodeSegmentHeader("").has_value());
}

TEST(LogFormat, FileNamesParseOnlyWhole) {
  EXPECT_EQ(SegmentFileName(7), "0000000007.log");
  EXPECT_EQ(ParseSegmentFileName("0000000007.log"), 7u);
  EXPECT_EQ(ParseSegmentFileName("4294967295.log"), 4294967295u);
  for (const char* name : {"0000000000.log", "7.log", "0000000007.log.new", "000000000x.log",
                           "4294967296.log", "+000000007.log", ""}) {
    EXPECT_FALSE(ParseSegmentFileName(name).has_value()) << name;
  }
  EXPECT_TRUE(IsUnfinishedSegmentFileName("0000000007.log.new"));
  EXPECT_FALSE(IsUnfinishedSegmentFileName("0000000007.log"));
}

}  // namespace
}  // namespace sluice::log
