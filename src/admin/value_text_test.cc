// SPDX-License-Identifier: Apache-2.0
#include "admin/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;

Duration Span(std::string_view text) {
  return ParseSpan(text, absl::ZeroDuration(), absl::InfiniteDuration()).value();
}

TEST(ValueText, SpansHaveUnitsAndMayBeSums) {
  EXPECT_EQ(Span("10s"), absl::Seconds(10));
  EXPECT_EQ(Span("250ms"), absl::Milliseconds(250));
  EXPECT_EQ(Span("1h30m"), absl::Minutes(90));
  EXPECT_EQ(Span("10d"), absl::Hours(240));
  EXPECT_EQ(Span("0.05s"), absl::Milliseconds(50));
  EXPECT_EQ(Span("0"), absl::ZeroDuration());
}

TEST(ValueText, SpansWithoutUnitOrWithAnUnknownOneAreRefused) {
  for (const std::string_view text : {"", "10", "s", "10x", "-1s", "1s2", "1..5s", "inf", "1 s"}) {
    const auto span = ParseSpan(text, absl::ZeroDuration(), absl::InfiniteDuration());
    EXPECT_TRUE(absl::IsInvalidArgument(span.status())) << text;
  }
}

TEST(ValueText, SpanOutsideItsBoundsNamesBoth) {
  const auto span = ParseSpan("9d", absl::Hours(240), absl::Hours(480));
  EXPECT_THAT(std::string(Message(span.status())), HasSubstr("9d is outside 10d to 20d"));
}

TEST(ValueText, SpanTextReadsBackAsTheSameSpan) {
  for (const Duration span : {absl::ZeroDuration(), absl::Seconds(1), absl::Milliseconds(1500),
                              absl::Hours(24 * 31), absl::Microseconds(7)}) {
    EXPECT_EQ(Span(SpanText(span)), span) << SpanText(span);
  }
}

TEST(ValueText, NumbersAreReadWholeAndWithinBounds) {
  EXPECT_EQ(ParseReal("0.25", 0, 500).value(), 0.25);
  EXPECT_EQ(ParseInteger("-1", -1, 5).value(), -1);
  for (const std::string_view text : {"", "1x", "nan", "inf", "501", " 1"}) {
    EXPECT_FALSE(ParseReal(text, 0, 500).ok()) << text;
  }
  for (const std::string_view text : {"", "1.5", "6", "-2", "99999999999999999999"}) {
    EXPECT_FALSE(ParseInteger(text, -1, 5).ok()) << text;
  }
}

TEST(ValueText, OnlyTrueAndFalseAreBooleans) {
  EXPECT_TRUE(ParseBool("true").value());
  EXPECT_FALSE(ParseBool("false").value());
  EXPECT_FALSE(ParseBool("yes").ok());
}

TEST(ValueText, InstantsHaveAZone) {
  EXPECT_EQ(ParseInstant("2030-01-31T10:00:00Z").value(), absl::FromUnixSeconds(1896084000));
  EXPECT_EQ(ParseInstant("2030-01-31T12:00:00.5+02:00").value(),
            absl::FromUnixMillis(1896084000500));
  EXPECT_EQ(InstantText(absl::FromUnixMillis(1896084000500)), "2030-01-31T10:00:00.5Z");
  for (const std::string_view text : {"", "2030-01-31", "2030-01-31T10:00:00", "infinite-future"}) {
    EXPECT_FALSE(ParseInstant(text).ok()) << text;
  }
}

TEST(ValueText, NearestFindsATypoAndNothingFarAway) {
  EXPECT_EQ(Nearest("max_atempts", {"max_attempts", "max_backoff"}), "max_attempts");
  EXPECT_EQ(Nearest("colour", {"max_attempts", "state"}), "");
}

}  // namespace
}  // namespace sluice::admin
