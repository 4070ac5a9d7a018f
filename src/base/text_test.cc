// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sluice {
namespace {

TEST(Text, ANumberIsTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("0042"), 42);
  EXPECT_EQ(ParseNumber<int>("-7"), -7);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  for (const char* bad : {"", "-", "+1", " 1", "1 ", "1x", "0x1", "1.5"}) {
    EXPECT_FALSE(ParseNumber<int>(bad).has_value()) << bad;
  }
  EXPECT_FALSE(ParseNumber<std::uint16_t>("65536").has_value());
  EXPECT_FALSE(ParseNumber<std::uint64_t>("-1").has_value());
}

TEST(Text, Utf8IsShortestFormsOfRealCharacters) {
  for (const char* good :
       {"", "a", "\xC3\xA9", "\xE6\x9D\xB1", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                          "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xFF"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
  EXPECT_EQ(Utf8Length("\xE6\x9D\xB1x"), 3u);
}

TEST(Text, PercentEscapesAreResolvedOrRefused) {
  EXPECT_EQ(DecodePercent("a%2Fb%3a"), "a/b:");
  EXPECT_EQ(DecodePercent(""), "");
  for (const char* bad : {"%", "%2", "a%2", "%zz", "%2z"}) {
    EXPECT_FALSE(DecodePercent(bad).has_value()) << bad;
  }
}

TEST(Text, EncodingKeepsLettersDigitsAndTheMarksAsked) {
  std::string out = "x=";
  AppendPercentEncoded("a-b c/\xC3\xA9~", kUnreservedMarks, &out);
  EXPECT_EQ(out, "x=a-b%20c%2F%C3%A9~");
  out.clear();
  AppendPercentEncoded("a~*", "*", &out);
  EXPECT_EQ(out, "a%7E*");
}

}  // namespace
}  // namespace sluice
