// SPDX-License-Identifier: Apache-2.0
// Proves that what the writer wrote is what the reader reads, that ordered
// integers sort as bytes, and that every truncation is noticed.
#include "base/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace sluice {
namespace {

TEST(Codec, EveryKindReadsBackAsWritten) {
  std::string buffer;
  ByteWriter w(&buffer);
  w.U8(200);
  w.U32(0xDEADBEEF);
  w.U64(std::numeric_limits<std::uint64_t>::max());
  w.Varint(0);
  w.Varint(300);
  w.Varint(std::numeric_limits<std::uint64_t>::max());
  w.SignedVarint(-1);
  w.SignedVarint(std::numeric_limits<std::int64_t>::min());
  w.Double(0.25);
  w.Bytes("body");
  w.OrderedU64(7);
  w.OrderedI64(-7);

  ByteReader r(buffer);
  EXPECT_EQ(r.U8(), 200);
  EXPECT_EQ(r.U32(), 0xDEADBEEF);
  EXPECT_EQ(r.U64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(r.Varint(), 0u);
  EXPECT_EQ(r.Varint(), 300u);
  EXPECT_EQ(r.Varint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(r.SignedVarint(), -1);
  EXPECT_EQ(r.SignedVarint(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(r.Double(), 0.25);
  EXPECT_EQ(r.Bytes(), "body");
  EXPECT_EQ(r.OrderedU64(), 7u);
  EXPECT_EQ(r.OrderedI64(), -7);
  EXPECT_TRUE(r.done());
}

TEST(Codec, EveryTruncationFailsAndStaysFailed) {
  std::string buffer;
  ByteWriter w(&buffer);
  w.U64(1);
  w.Bytes("0123456789");
  w.Varint(1u << 20);
  for (std::size_t cut = 0; cut < buffer.size(); ++cut) {
    ByteReader r(std::string_view(buffer).substr(0, cut));
    r.U64();
    r.Bytes();
    r.Varint();
    EXPECT_FALSE(r.ok()) << "cut at " << cut;
    EXPECT_EQ(r.U8(), 0);
    EXPECT_FALSE(r.done());
  }
}

TEST(Codec, OverlongVarintFails) {
  const std::string eleven(11, '\xFF');
  ByteReader r(eleven);
  r.Varint();
  EXPECT_FALSE(r.ok());
}

TEST(Codec, OrderedIntegersSortAsTheirBytes) {
  std::vector<std::int64_t> values{5,
                                   -5,
                                   0,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(),
                                   256,
                                   -256};
  std::vector<std::string> keys;
  for (const std::int64_t v : values) ByteWriter(&keys.emplace_back()).OrderedI64(v);
  std::ranges::sort(values);
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(ByteReader(keys[i]).OrderedI64(), values[i]);
  }
}

}  // namespace
}  // namespace sluice
