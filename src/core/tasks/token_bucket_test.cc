// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/token_bucket.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

// The worked examples of the specification (2.2), and the promise behind them:
// in no span of time does more leave than the burst and what accrued in it.

namespace sluice::core {
namespace {

const Time kStart = absl::FromUnixSeconds(2'000'000'000);

/// Takes `count` tokens as early as they come and returns when each was taken.
std::vector<Duration> TakeEagerly(TokenBucket bucket, int count) {
  std::vector<Duration> taken;
  Time now = kStart;
  while (static_cast<int>(taken.size()) < count) {
    now = std::max(now, bucket.NextTokenTime());
    EXPECT_TRUE(bucket.TryTake(now)) << "not there at the time it was promised";
    taken.push_back(now - kStart);
  }
  return taken;
}

TEST(TokenBucket, RateTwoBurstTenSendsTenAtOnceAndThenEveryHalfSecond) {
  const auto taken = TakeEagerly(TokenBucket::Full(2, 10, kStart), 15);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(taken[i], absl::ZeroDuration());
  for (std::size_t i = 10; i < 15; ++i) {
    EXPECT_EQ(taken[i], absl::Milliseconds(500) * static_cast<int>(i - 9));
  }
}

TEST(TokenBucket, QuarterRateSendsOneInFourSecondsAfterTheBurst) {
  const auto taken = TakeEagerly(TokenBucket::Full(0.25, 10, kStart), 12);
  EXPECT_EQ(taken[9], absl::ZeroDuration());
  EXPECT_EQ(taken[10], absl::Seconds(4));
  EXPECT_EQ(taken[11], absl::Seconds(8));
}

TEST(TokenBucket, RateFiveHundredBurstHundredSendsTheSixHundredthAfterOneSecond) {
  const auto taken = TakeEagerly(TokenBucket::Full(500, 100, kStart), 600);
  EXPECT_EQ(taken[99], absl::ZeroDuration());
  EXPECT_EQ(taken[100], absl::Milliseconds(2));
  EXPECT_EQ(taken[599], absl::Seconds(1));
}

TEST(TokenBucket, StartsEmptyWhenAsked) {
  TokenBucket bucket = TokenBucket::Empty(4, 10, kStart);
  EXPECT_FALSE(bucket.TryTake(kStart));
  EXPECT_EQ(bucket.NextTokenTime(), kStart + absl::Milliseconds(250));
  EXPECT_TRUE(bucket.TryTake(kStart + absl::Milliseconds(250)));
}

TEST(TokenBucket, NextTokenIsNeverEarlyAndAtMostAMicrosecondLate) {
  for (const double rate : {0.25, 0.1, 0.3, 0.7, 1.0, 3.0, 7.0, 333.0, 499.9, 500.0, 1e-6}) {
    TokenBucket bucket = TokenBucket::Empty(rate, 5, kStart);
    for (int i = 0; i < 1000; ++i) {
      const Time next = bucket.NextTokenTime();
      EXPECT_FALSE(TokenBucket(bucket).TryTake(next - absl::Microseconds(2))) << rate;
      ASSERT_TRUE(bucket.TryTake(next)) << rate;
    }
  }
}

TEST(TokenBucket, DoesNotDriftOverADayAtFullRate) {
  for (const double rate : {0.25, 1.0 / 3, 0.7, 7.0, 500.0}) {
    const int count = static_cast<int>(std::min(1e5, rate * 86'400));
    const auto taken = TakeEagerly(TokenBucket::Empty(rate, 10, kStart), count);
    const double expected = count / rate;
    // Each token may wait for its whole microsecond, but what is left of it is not lost.
    EXPECT_NEAR(absl::ToDoubleSeconds(taken.back()), expected, 2e-6) << rate;
  }
}

TEST(TokenBucket, HoldsNoMoreThanTheBurst) {
  TokenBucket bucket = TokenBucket::Full(500, 3, kStart);
  const Time later = kStart + absl::Hours(1000);
  EXPECT_EQ(bucket.TokensAt(later), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.TryTake(later));
  EXPECT_FALSE(bucket.TryTake(later));
}

TEST(TokenBucket, AskingOftenChangesNothing) {
  TokenBucket asked = TokenBucket::Empty(0.3, 10, kStart);
  const TokenBucket left_alone = asked;
  for (int us = 0; us < 3'000'000; us += 997) {
    EXPECT_FALSE(asked.TryTake(kStart + absl::Microseconds(us)));
  }
  EXPECT_EQ(asked.NextTokenTime(), left_alone.NextTokenTime());
}

TEST(TokenBucket, ConfigureCountsThePastAtTheOldRate) {
  TokenBucket bucket = TokenBucket::Empty(1, 100, kStart);
  bucket.Configure(10, 100, kStart + absl::Seconds(5));
  EXPECT_EQ(bucket.TokensAt(kStart + absl::Seconds(5)), 5);
  EXPECT_EQ(bucket.TokensAt(kStart + absl::Seconds(6)), 15);
}

TEST(TokenBucket, ASmallerBurstSpillsWhatDoesNotFit) {
  TokenBucket bucket = TokenBucket::Full(1, 100, kStart);
  bucket.Configure(1, 10, kStart);
  EXPECT_EQ(bucket.TokensAt(kStart), 10);
  bucket.Configure(1, 100, kStart);
  EXPECT_EQ(bucket.TokensAt(kStart), 10);
}

TEST(TokenBucket, TimeThatGoesBackGivesNoTokens) {
  TokenBucket bucket = TokenBucket::Full(1, 1, kStart);
  EXPECT_TRUE(bucket.TryTake(kStart));
  EXPECT_FALSE(bucket.TryTake(kStart - absl::Hours(1)));
  EXPECT_EQ(bucket.NextTokenTime(), kStart + absl::Seconds(1));
}

TEST(TokenBucket, ATinyRateWaitsForEverInsteadOfOverflowing) {
  EXPECT_EQ(TokenBucket::Empty(1e-300, 1, kStart).NextTokenTime(), absl::InfiniteFuture());
  EXPECT_EQ(TokenBucket::Empty(0, 1, kStart).NextTokenTime(), absl::InfiniteFuture());
}

TEST(TokenBucket, NoWindowOfTimeLetsThroughMoreThanBurstAndAccrual) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const double rate = std::exp(std::uniform_real_distribution<>(-2, 6.2)(random));
    const int burst = std::uniform_int_distribution<>(1, 30)(random);
    TokenBucket bucket = TokenBucket::Full(rate, burst, kStart);
    std::vector<double> taken;  // seconds
    Time now = kStart;
    for (int i = 0; i < 300; ++i) {
      // Now and then a pause, so that the bucket fills.
      const double mean = i % 50 == 49 ? 2.0 * burst / rate : 0.3 / rate;
      now +=
          absl::Microseconds(std::llround(1e6 * std::exponential_distribution<>(1 / mean)(random)));
      while (bucket.TryTake(now)) taken.push_back(absl::ToDoubleSeconds(now - kStart));
    }
    for (std::size_t first = 0; first < taken.size(); ++first) {
      for (std::size_t last = first; last < taken.size(); ++last) {
        const double span = taken[last] - taken[first];
        const auto count = static_cast<double>(last - first + 1);
        ASSERT_LE(count, burst + rate * span + 1e-6) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::core
