// SPDX-License-Identifier: Apache-2.0
// Proves that virtual time moves only when told, wakes who registered, and that a
// registration's end is final; and that the system clock gives whole microseconds.
#include "env/virtual_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "env/posix/clock.h"

namespace sluice::env {
namespace {

const Time kStart = FromMicros(1'700'000'000'000'000);

TEST(VirtualClock, StandsStillUntilAdvanced) {
  VirtualClock clock(kStart);
  EXPECT_EQ(clock.Now(), kStart);
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), kStart + absl::Seconds(5));
  clock.Set(kStart - absl::Seconds(1));
  EXPECT_EQ(clock.Now(), kStart - absl::Seconds(1));
}

TEST(VirtualClock, SleepersAreToldToSleepLongAndAreWokenByAdvance) {
  VirtualClock clock(kStart);
  EXPECT_EQ(clock.RealTimeUntil(kStart), absl::Hours(1));
  int woken = 0;
  Time seen;
  VirtualClock::Registration registration = clock.OnAdvance([&] {
    ++woken;
    seen = clock.Now();
  });
  clock.Advance(absl::Microseconds(1));
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(seen, kStart + absl::Microseconds(1));
  registration.Reset();
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(woken, 1);
}

TEST(VirtualClock, ConcurrentAdvancesAddUpAndEachWakes) {
  constexpr int kMoves = 1000;
  VirtualClock clock(kStart);
  std::atomic<int> woken = 0;
  const VirtualClock::Registration registration = clock.OnAdvance([&] { ++woken; });
  const auto move = [&] {
    for (int i = 0; i < kMoves; ++i) clock.Advance(absl::Microseconds(1));
  };
  std::thread other(move);
  move();
  other.join();
  EXPECT_EQ(clock.Now(), kStart + absl::Microseconds(2 * kMoves));
  EXPECT_EQ(woken, 2 * kMoves);
}

TEST(SystemClock, GivesWholeMicrosecondsAndNeverANegativeSleep) {
  const SystemClock clock;
  const Time now = clock.Now();
  EXPECT_EQ(now, FloorToMicros(now));
  EXPECT_EQ(clock.RealTimeUntil(now - absl::Seconds(1)), absl::ZeroDuration());
  EXPECT_GT(clock.RealTimeUntil(now + absl::Hours(1)), absl::Minutes(59));
}

}  // namespace
}  // namespace sluice::env
