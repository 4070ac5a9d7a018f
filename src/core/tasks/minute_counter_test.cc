// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/minute_counter.h"

#include <gtest/gtest.h>

namespace sluice::core {
namespace {

const Time kStart = absl::FromUnixSeconds(2'000'000'000);

TEST(MinuteCounter, CountsTheLastSixtySeconds) {
  MinuteCounter counter;
  for (int second = 0; second < 200; ++second) counter.Add(kStart + absl::Seconds(second));
  EXPECT_EQ(counter.Count(kStart + absl::Seconds(199)), 60u);
  EXPECT_EQ(counter.Count(kStart + absl::Seconds(229)), 30u);
  EXPECT_EQ(counter.Count(kStart + absl::Seconds(259)), 0u);
}

TEST(MinuteCounter, APauseForgetsWhatLiesBeforeIt) {
  MinuteCounter counter;
  for (int i = 0; i < 5; ++i) counter.Add(kStart);
  counter.Add(kStart + absl::Hours(1));
  EXPECT_EQ(counter.Count(kStart + absl::Hours(1)), 1u);
}

TEST(MinuteCounter, IsZeroBeforeAnythingHappened) {
  EXPECT_EQ(MinuteCounter().Count(kStart), 0u);
  EXPECT_EQ(MinuteCounter().Count(absl::UnixEpoch()), 0u);
}

}  // namespace
}  // namespace sluice::core
