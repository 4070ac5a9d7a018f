// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/throttle.h"

#include <gtest/gtest.h>

// What overloaded targets do to a queue's pace (spec 4.7).

namespace sluice::core {
namespace {

using Kind = AttemptOutcome::Kind;

const Time kStart = absl::FromUnixSeconds(2'000'000'000);
constexpr double kRate = 100;

AttemptOutcome Response(std::int32_t status, Duration retry_after = absl::ZeroDuration()) {
  return {.http_status = status, .retry_after = retry_after};
}

// The table of spec 4.5.
TEST(Throttle, HttpTargetsThrottleBy429And503AppEngineBy503Alone) {
  for (const bool is_app_engine : {false, true}) {
    EXPECT_TRUE(IsOverloaded(Response(503), is_app_engine));
    EXPECT_EQ(IsOverloaded(Response(429), is_app_engine), !is_app_engine);
    for (const int status : {200, 302, 400, 404, 500, 502, 504}) {
      EXPECT_FALSE(IsOverloaded(Response(status), is_app_engine)) << status;
    }
    EXPECT_FALSE(IsOverloaded({.kind = Kind::kTimedOut, .http_status = 503}, is_app_engine));
    EXPECT_FALSE(IsOverloaded({.kind = Kind::kConnectionFailed}, is_app_engine));
  }
}

TEST(Throttle, RetryAfterCountsOnlyWithOverloadAndHasALimit) {
  EXPECT_EQ(RetryAfterOf(Response(429, absl::Seconds(30)), false), absl::Seconds(30));
  EXPECT_EQ(RetryAfterOf(Response(500, absl::Seconds(30)), false), absl::ZeroDuration());
  EXPECT_EQ(RetryAfterOf(Response(503, absl::Hours(50)), false), kRetryAfterMax);
  EXPECT_EQ(RetryAfterOf(Response(503, -absl::Hours(1)), false), absl::ZeroDuration());
}

TEST(Throttle, OverloadHalvesAtMostOnceASecondAndStopsAtTheFloor) {
  Throttle throttle;
  EXPECT_FALSE(throttle.is_slow());
  throttle.Overloaded(kRate, {}, kStart);
  throttle.Overloaded(kRate, {}, kStart + absl::Milliseconds(999));
  EXPECT_EQ(throttle.RateFor(kRate), 50);
  throttle.Overloaded(kRate, {}, kStart + absl::Seconds(1));
  EXPECT_EQ(throttle.RateFor(kRate), 25);
  for (int i = 2; i < 40; ++i) throttle.Overloaded(kRate, {}, kStart + absl::Seconds(i));
  EXPECT_EQ(throttle.RateFor(kRate), kThrottledRateMin);
  EXPECT_TRUE(throttle.is_slow());
}

TEST(Throttle, TwentySuccessesBringTheWholePaceBack) {
  Throttle throttle;
  for (int i = 0; i < 40; ++i) throttle.Overloaded(kRate, {}, kStart + absl::Seconds(i));
  double rate = throttle.RateFor(kRate);
  for (int i = 0; i < 20; ++i) {
    throttle.Succeeded();
    EXPECT_GT(throttle.RateFor(kRate), rate);
    rate = throttle.RateFor(kRate);
  }
  EXPECT_EQ(throttle.RateFor(kRate), kRate);
  EXPECT_FALSE(throttle.is_slow());
}

TEST(Throttle, AQueueSlowerThanTheFloorKeepsItsPace) {
  Throttle throttle;
  throttle.Overloaded(0.05, {}, kStart);
  EXPECT_EQ(throttle.RateFor(0.05), 0.05);
  EXPECT_FALSE(throttle.is_slow());
}

TEST(Throttle, TheLatestRetryAfterStopsTheQueue) {
  Throttle throttle;
  throttle.Overloaded(kRate, absl::Seconds(30), kStart);
  throttle.Overloaded(kRate, absl::Seconds(10), kStart);
  EXPECT_EQ(throttle.paused_until(), kStart + absl::Seconds(30));
  throttle.Overloaded(kRate, absl::Seconds(31), kStart);
  EXPECT_EQ(throttle.paused_until(), kStart + absl::Seconds(31)) << "also between halvings";
}

}  // namespace
}  // namespace sluice::core
