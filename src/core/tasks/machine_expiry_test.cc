// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/tasks/testing/machine_harness.h"

// Expiry at task_ttl (spec 2.7, 3.8).

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestQueue;

constexpr Duration kTtl = absl::Hours(24 * 10);

class MachineExpiry : public ::testing::Test {
 protected:
  MachineExpiry() {
    EXPECT_TRUE(h.CreateQueue("q", {.task_ttl = kTtl}).ok());
    EXPECT_TRUE(h.PauseQueue("q").ok());
  }
  std::uint64_t TaskCount() { return h.machine().Stats(TestQueue("q"), h.now())->task_count; }

  MachineHarness h;
};

TEST_F(MachineExpiry, AnOldTaskEndsByItselfAndLeavesATombstone) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.RunFor(kTtl - absl::Microseconds(1));
  EXPECT_TRUE(h.GetTask("q", "t").ok());
  h.RunFor(absl::Microseconds(1));
  EXPECT_EQ(TaskCount(), 0u);
  ASSERT_EQ(h.ended().size(), 1u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kExpired);
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.RunFor(kTombstoneTtlDefault);
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
}

TEST_F(MachineExpiry, EachTaskEndsAtItsOwnTime) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(h.CreateTask("q").ok());
    h.RunFor(absl::Hours(1));
  }
  h.RunFor(kTtl - absl::Hours(20));
  for (std::uint64_t left = 19;; --left) {
    EXPECT_EQ(TaskCount(), left);
    if (left == 0) break;
    h.RunFor(absl::Hours(1));
  }
}

TEST_F(MachineExpiry, AnExpiredTaskIsGoneForClientsBeforeItIsCleanedAway) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.SkipTo(h.now() + kTtl);
  EXPECT_EQ(h.GetTask("q", "t").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.RunTask("q", "t").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.DeleteTask("q", "t").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
  const auto listing = h.machine().BeginListing(TestQueue("q"), h.now());
  EXPECT_EQ(listing->created_after, h.now() - kTtl);
}

TEST_F(MachineExpiry, AnExpiredTaskIsNotSent) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.SkipTo(h.now() + kTtl);
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  h.Settle();
  EXPECT_TRUE(h.open().empty());
  EXPECT_EQ(h.ended().size(), 1u);
}

TEST_F(MachineExpiry, ATaskThatExpiresInFlightEndsAndItsOutcomeIsIgnored) {
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  h.RunFor(kTtl);
  EXPECT_EQ(TaskCount(), 0u);
  h.RespondFirst(500);
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  EXPECT_EQ(h.ended().size(), 1u);
}

TEST_F(MachineExpiry, AChangedTtlHoldsForTasksThatExist) {
  ASSERT_TRUE(h.UpdateQueue("q", {.task_ttl = 2 * kTtl}).ok());
  ASSERT_TRUE(h.CreateTask("q").ok());
  h.RunFor(absl::Hours(1));
  ASSERT_TRUE(h.UpdateQueue("q", {.task_ttl = kTtl}).ok());
  h.RunFor(kTtl - absl::Hours(1) - absl::Microseconds(1));
  EXPECT_EQ(TaskCount(), 1u);
  h.RunFor(absl::Microseconds(1));
  EXPECT_EQ(TaskCount(), 0u);
}

TEST_F(MachineExpiry, ExpiryHoldsOverARestartAndForColdTasks) {
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.RunFor(absl::Hours(1));
  h.Restart();
  h.RunFor(kTtl - absl::Hours(1) - absl::Microseconds(1));
  EXPECT_EQ(TaskCount(), 1u);
  h.RunFor(absl::Microseconds(1));
  EXPECT_EQ(TaskCount(), 0u);
}

TEST_F(MachineExpiry, ScansBeginNearTheOldestTaskAlsoAfterManyEnded) {
  constexpr int kTasks = 5000;
  h.LeaveLedgerUnchecked();  // a check visits every task
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  for (int i = 0; i < kTasks; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  while (TaskCount() > 1) {
    h.RunFor(absl::Milliseconds(10));
    while (h.open().size() > 0 && TaskCount() > 1) h.RespondFirst(200);
  }
  h.Settle();
  const Sequence first = h.machine().BeginListing(TestQueue("q"), h.now())->first;
  EXPECT_GT(first, static_cast<Sequence>(kTasks - 1500));
}

}  // namespace
}  // namespace sluice::core
