// SPDX-License-Identifier: Apache-2.0
#include "dispatch/header_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::dispatch {
namespace {

TEST(HeaderLines, KeepsCaseAndOrder) {
  HeaderLines lines;
  ASSERT_TRUE(lines.Add("X-b", "1").ok());
  ASSERT_TRUE(lines.Add("X-A", "two words").ok());
  ASSERT_EQ(lines.count(), 2u);
  EXPECT_EQ(lines.Name(0), "X-b");
  EXPECT_EQ(lines.Value(1), "two words");
  EXPECT_STREQ(lines.Line(0), "X-b: 1");
  EXPECT_STREQ(lines.Line(1), "X-A: two words");
}

TEST(HeaderLines, AnEmptyValueIsWrittenSoThatItIsSent) {
  HeaderLines lines;
  ASSERT_TRUE(lines.Add("X-Empty", "").ok());
  ASSERT_TRUE(lines.Add("X-Blank", " \t ").ok());
  EXPECT_STREQ(lines.Line(0), "X-Empty;");
  EXPECT_STREQ(lines.Line(1), "X-Blank;");
  EXPECT_EQ(lines.Value(1), "");
}

TEST(HeaderLines, WhiteSpaceAroundAValueGoes) {
  HeaderLines lines;
  ASSERT_TRUE(lines.Add("X", "\t a b ").ok());
  EXPECT_EQ(lines.Value(0), "a b");
}

TEST(HeaderLines, RefusesWhatCouldBreakOut) {
  HeaderLines lines;
  EXPECT_EQ(lines.Add("X\r\nEvil", "1").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lines.Add("", "1").code(), absl::StatusCode::kInvalidArgument);
  const Status status = lines.Add("X-Mine", "1\r\nEvil: 1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), testing::HasSubstr("X-Mine"));
  EXPECT_EQ(lines.count(), 0u);
}

TEST(HeaderLines, RemovesEveryHeaderOfANameInAnyCase) {
  HeaderLines lines;
  ASSERT_TRUE(lines.Add("Cookie", "1").ok());
  ASSERT_TRUE(lines.Add("X", "2").ok());
  ASSERT_TRUE(lines.Add("cookie", "3").ok());
  lines.Remove("COOKIE");
  ASSERT_EQ(lines.count(), 1u);
  EXPECT_EQ(lines.Name(0), "X");
  EXPECT_FALSE(lines.Has("Cookie"));
  EXPECT_TRUE(lines.Has("x"));
}

TEST(HeaderLines, ClearForgetsEverything) {
  HeaderLines lines;
  ASSERT_TRUE(lines.Add("X", "2").ok());
  lines.Clear();
  EXPECT_EQ(lines.count(), 0u);
  ASSERT_TRUE(lines.Add("Y", "3").ok());
  EXPECT_STREQ(lines.Line(0), "Y: 3");
}

}  // namespace
}  // namespace sluice::dispatch
