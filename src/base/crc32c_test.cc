// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(Crc32cTest, PublishedVectors) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(Crc32cTest, EveryLengthAgreesWithTheBitwiseDefinition) {
  std::string bytes;
  for (int length = 0; length < 40; ++length) {
    std::uint32_t expected = 0xffffffffU;
    for (const char c : bytes) {
      expected ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) {
        expected = (expected >> 1) ^ ((expected & 1) != 0 ? 0x82f63b78U : 0);
      }
    }
    EXPECT_EQ(Crc32c(bytes), ~expected) << length;
    bytes.push_back(static_cast<char>(length * 37 + 11));
  }
}

}  // namespace
}  // namespace sluice
