// SPDX-License-Identifier: Apache-2.0
#include "cli/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sluice::cli {
namespace {

TEST(DescriptorLimit, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  rlimit lowered = saved;
  lowered.rlim_cur = saved.rlim_max / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), saved.rlim_max);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, saved.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);
}

TEST(DescriptorLimit, EachAttemptMoreNeedsOneAndAHalf) {
  admin::ServerOptions options;
  const std::uint64_t before = DescriptorsNeeded(options);
  EXPECT_GT(before, 10'000U);  // the connections alone
  options.limits.in_flight_max += 1000;
  EXPECT_EQ(DescriptorsNeeded(options), before + 1500);
}

}  // namespace
}  // namespace sluice::cli
