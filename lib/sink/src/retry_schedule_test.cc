// SPDX-License-Identifier: Apache-2.0
// Section 3.4 and the first half of checklist 12.2.
#include "sluice/sink/retry_schedule.h"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::sink {
namespace {

using namespace std::chrono_literals;

/// Answers always the same bits.
class ConstantRandom : public env::Random {
 public:
  explicit ConstantRandom(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t Bits() override { return bits_; }

 private:
  std::uint64_t bits_;
};

constexpr std::uint64_t kAllOnes = std::numeric_limits<std::uint64_t>::max();

TEST(RetrySchedule, DoublesUpToTheCap) {
  const RetrySchedule schedule(100ms, 10s, 8);
  EXPECT_EQ(schedule.Backoff(1), 100ms);
  EXPECT_EQ(schedule.Backoff(2), 200ms);
  EXPECT_EQ(schedule.Backoff(7), 6400ms);
  EXPECT_EQ(schedule.Backoff(8), 10s);
  EXPECT_EQ(schedule.Backoff(std::numeric_limits<int>::max()), 10s);
}

TEST(RetrySchedule, SaturatesInsteadOfOverflowing) {
  const auto max = std::chrono::milliseconds::max();
  EXPECT_EQ(RetrySchedule(max / 2 + 1ms, max, 3).Backoff(3), max);
}

TEST(RetrySchedule, JitterIsAQuarterToEitherSideAndPassesTheCap) {
  ConstantRandom low(0);
  ConstantRandom high(kAllOnes);
  const RetrySchedule schedule(1000ms, 1000ms, 8);
  EXPECT_EQ(schedule.Jittered(1, low), 750ms);
  EXPECT_GE(schedule.Jittered(1, high), 1249ms);
  EXPECT_LE(schedule.Jittered(1, high), 1250ms);
}

TEST(RetrySchedule, JitteredDelayIsAtLeastAMillisecond) {
  ConstantRandom low(0);
  EXPECT_EQ(RetrySchedule(1ms, 1ms, 2).Jittered(1, low), 1ms);
}

TEST(RetrySchedule, FirstAttemptCounts) {
  EXPECT_FALSE(RetrySchedule(1ms, 1ms, 1).MayRetryAfter(1));
  EXPECT_TRUE(RetrySchedule(1ms, 1ms, 2).MayRetryAfter(1));
  EXPECT_FALSE(RetrySchedule(1ms, 1ms, 2).MayRetryAfter(2));
}

}  // namespace
}  // namespace sluice::sink
