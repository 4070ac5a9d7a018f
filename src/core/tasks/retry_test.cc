// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/retry.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

// The interval tables of the specification (2.3 and acceptance 95 to 97), the
// rule for giving up, and arithmetic at its ends.

namespace sluice::core {
namespace {

const Time kNow = absl::FromUnixSeconds(2'000'000'000);

RetryConfig Backoff(double min_seconds, double max_seconds, std::int32_t doublings) {
  return RetryConfig{.min_backoff = absl::Seconds(min_seconds),
                     .max_backoff = absl::Seconds(max_seconds),
                     .max_doublings = doublings};
}

void ExpectIntervals(const RetryConfig& config, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_EQ(RetryInterval(config, static_cast<std::int32_t>(i + 1)), absl::Seconds(seconds[i]))
        << "retry " << i + 1;
  }
}

TEST(RetryInterval, FollowsTheTablesOfTheSpecification) {
  ExpectIntervals(Backoff(10, 300, 3), {10, 20, 40, 80, 160, 240, 300, 300});
  ExpectIntervals(Backoff(1, 10, 4), {1, 2, 4, 8, 10, 10});
  ExpectIntervals(Backoff(5, 60, 0), {5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 60});
  ExpectIntervals(Backoff(2, 100, 2), {2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 100});
  ExpectIntervals(Backoff(60, 300, 1), {60, 120, 240, 300, 300});
}

TEST(RetryInterval, KeepsFractionsOfASecondExact) {
  const RetryConfig config = Backoff(0.1, 10, 2);
  const std::vector<int> tenths = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40};
  for (std::size_t i = 0; i < tenths.size(); ++i) {
    EXPECT_EQ(RetryInterval(config, static_cast<std::int32_t>(i + 1)),
              absl::Milliseconds(100) * tenths[i]);
  }
}

TEST(RetryInterval, DefaultsDoubleSixteenTimesAndThenStayAtAnHour) {
  const RetryConfig config;
  for (std::int32_t n = 1; n <= 16; ++n) {
    EXPECT_EQ(RetryInterval(config, n), absl::Milliseconds(100) * (1 << (n - 1))) << n;
  }
  EXPECT_EQ(RetryInterval(config, 16), absl::Milliseconds(3'276'800));
  for (std::int32_t n = 17; n <= 99; ++n) EXPECT_EQ(RetryInterval(config, n), absl::Hours(1)) << n;
}

TEST(RetryInterval, DefaultsSpanThreeAndAHalfDaysOverNinetyNineRetries) {
  Duration sum;
  for (std::int32_t n = 1; n <= 99; ++n) sum += RetryInterval(RetryConfig{}, n);
  EXPECT_EQ(sum, absl::Milliseconds(305'353'500));
}

TEST(RetryInterval, HugeDoublingsAndCountsReachTheMaximumWithoutOverflow) {
  constexpr std::int32_t kHuge = std::numeric_limits<std::int32_t>::max();
  RetryConfig config = Backoff(0.1, 3600, kHuge);
  EXPECT_EQ(RetryInterval(config, 99), absl::Hours(1));
  EXPECT_EQ(RetryInterval(config, kHuge), absl::Hours(1));
  config.max_doublings = 60;
  EXPECT_EQ(RetryInterval(config, kHuge), absl::Hours(1));
  config.max_backoff = absl::InfiniteDuration();
  EXPECT_GT(RetryInterval(config, kHuge), absl::Hours(1'000'000));
}

TEST(RetryInterval, ZeroBackoffIsZeroForEver) {
  EXPECT_EQ(RetryInterval(Backoff(0, 3600, 16), 1), absl::ZeroDuration());
  EXPECT_EQ(RetryInterval(Backoff(0, 3600, 16), 1000), absl::ZeroDuration());
}

TEST(RetryTime, StaysWithinWhatATimestampCanShow) {
  EXPECT_EQ(RetryTime(kNow, absl::Seconds(3)), kNow + absl::Seconds(3));
  const Time latest = RetryTime(kNow, absl::InfiniteDuration());
  EXPECT_EQ(absl::FormatTime(latest, absl::UTCTimeZone()), "9999-12-31T23:59:59+00:00");
}

TEST(RetryTime, IsAWholeMicrosecond) {
  EXPECT_EQ(RetryTime(kNow, absl::Nanoseconds(1999)), kNow + absl::Microseconds(1));
}

TaskProgress Attempted(std::int32_t count, Duration since_first) {
  return TaskProgress{.dispatch_count = count, .first_dispatch_time = kNow - since_first};
}

TEST(IsExhausted, ByCountAloneWhenNoDurationIsSet) {
  const RetryConfig config{.max_attempts = 3};
  EXPECT_FALSE(IsExhausted(config, Attempted(2, absl::Hours(100)), kNow));
  EXPECT_TRUE(IsExhausted(config, Attempted(3, absl::ZeroDuration()), kNow));
  EXPECT_TRUE(IsExhausted(config, Attempted(4, absl::ZeroDuration()), kNow));
}

TEST(IsExhausted, NeedsBothLimitsWhenBothAreSet) {
  const RetryConfig config{.max_attempts = 3, .max_retry_duration = absl::Seconds(60)};
  EXPECT_FALSE(IsExhausted(config, Attempted(10, absl::Seconds(59)), kNow));
  EXPECT_FALSE(IsExhausted(config, Attempted(2, absl::Seconds(600)), kNow));
  EXPECT_TRUE(IsExhausted(config, Attempted(3, absl::Seconds(60)), kNow));
}

TEST(IsExhausted, ByDurationAloneWhenAttemptsAreUnlimited) {
  const RetryConfig config{.max_attempts = -1, .max_retry_duration = absl::Seconds(60)};
  EXPECT_FALSE(IsExhausted(config, Attempted(1000, absl::Seconds(59)), kNow));
  EXPECT_TRUE(IsExhausted(config, Attempted(1, absl::Seconds(60)), kNow));
}

TEST(IsExhausted, NeverWhenBothLimitsAreUnlimited) {
  const RetryConfig config{.max_attempts = -1};
  EXPECT_FALSE(IsExhausted(config, Attempted(1'000'000, absl::Hours(24 * 30)), kNow));
}

TEST(IsExhausted, NeverBeforeTheFirstAttempt) {
  EXPECT_FALSE(IsExhausted(RetryConfig{.max_attempts = 1}, TaskProgress{}, kNow));
}

TEST(RetryConfigOf, TheTasksOwnReplacesTheQueuesAsAWhole) {
  QueueConfig queue;
  queue.retry.max_attempts = 7;
  TaskBody body;
  EXPECT_EQ(RetryConfigOf(body, queue).max_attempts, 7);
  body.retry = RetryConfig{.max_attempts = 2};
  EXPECT_EQ(RetryConfigOf(body, queue), *body.retry);
}

}  // namespace
}  // namespace sluice::core
