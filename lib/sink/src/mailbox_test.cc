// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/mailbox.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice::sink {
namespace {

TEST(ThreadMailbox, RunsOneMailACallInTheOrderOfPosts) {
  ThreadMailbox mailbox;
  std::vector<int> ran;
  mailbox.Post([&ran] { ran.push_back(1); });
  mailbox.Post([&ran] { ran.push_back(2); });
  EXPECT_TRUE(mailbox.RunOneUntil(std::nullopt));
  EXPECT_EQ(ran, (std::vector<int>{1}));
  mailbox.Post([&ran] { ran.push_back(3); });
  EXPECT_TRUE(mailbox.RunOneUntil(std::nullopt));
  EXPECT_TRUE(mailbox.RunOneUntil(std::nullopt));
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3}));
}

TEST(ThreadMailbox, PastTimeOnlyLooks) {
  ThreadMailbox mailbox;
  EXPECT_FALSE(mailbox.RunOneUntil(env::MonotonicTime{}));
  mailbox.Post([] {});
  EXPECT_TRUE(mailbox.RunOneUntil(env::MonotonicTime{}));
}

TEST(ThreadMailbox, WaitsForAPostFromAnotherThread) {
  ThreadMailbox mailbox;
  int ran = 0;
  std::jthread poster([&] {
    for (int i = 0; i < 1000; ++i) mailbox.Post([&ran] { ++ran; });
  });
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(mailbox.RunOneUntil(std::nullopt));
  EXPECT_EQ(ran, 1000);
}

}  // namespace
}  // namespace sluice::sink
