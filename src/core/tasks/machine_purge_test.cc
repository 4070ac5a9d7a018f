// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/tasks/testing/machine_harness.h"

// Purging (spec 2.5), and the cleaning that follows it in steps.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestEpoch;
using testing::TestQueue;

constexpr std::size_t kStep = 4;

class MachinePurge : public ::testing::Test {
 protected:
  MachinePurge() { EXPECT_TRUE(h.CreateQueue("q").ok()); }

  void CreateTasks(int count, std::string_view prefix) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(h.CreateTask("q", {.task_id = fmt::format("{}{}", prefix, i),
                                     .schedule_time = h.now() + absl::Minutes(10)})
                      .ok());
    }
  }
  std::uint64_t TaskCount() { return h.machine().Stats(TestQueue("q"), h.now())->task_count; }
  std::size_t StoredTasks() { return h.ledger().queues().begin()->second.tasks.size(); }
  absl::StatusCode Code(std::string_view id) { return h.GetTask("q", id).status().code(); }

  MachineHarness h{TaskLimits{.purge_rows_max = kStep}};
};

TEST_F(MachinePurge, EverythingCreatedBeforeIsGoneAtOnceAndIsNeverSent) {
  CreateTasks(10, "t");
  const auto queue = h.PurgeQueue("q");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->purge_time, h.now());
  EXPECT_EQ(TaskCount(), 0u);
  EXPECT_EQ(Code("t3"), absl::StatusCode::kNotFound);
  const auto listing = h.machine().BeginListing(TestQueue("q"), h.now());
  EXPECT_GT(listing->first, queue->purged_through);
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  EXPECT_EQ(StoredTasks(), 0u);
  EXPECT_EQ(h.ended().size(), 10u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kPurged);
}

TEST_F(MachinePurge, ATaskCreatedInTheSameMomentSurvives) {
  CreateTasks(10, "t");
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "new"}).ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.body->task_id, "new");
  EXPECT_EQ(TaskCount(), 1u);
}

TEST_F(MachinePurge, AnEmptyQueueGetsItsPurgeTimeAndNothingToClean) {
  ASSERT_TRUE(h.PurgeQueue("q")->purge_time.has_value());
  for (const auto& load : h.pending()) {
    EXPECT_FALSE(std::holds_alternative<FindPurged>(load.request));
  }
}

TEST_F(MachinePurge, CleaningGoesInSteps) {
  CreateTasks(10, "t");
  h.Settle();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  std::size_t steps = 0;
  while (!h.pending().empty()) {
    const std::size_t before = StoredTasks();
    h.Deliver(0);
    EXPECT_LE(before - StoredTasks(), kStep);
    ++steps;
  }
  EXPECT_EQ(steps, 3u);
  EXPECT_EQ(StoredTasks(), 0u);
}

TEST_F(MachinePurge, ACacheThatHoldsFewBodiesShrinksTheSteps) {
  CreateTasks(10, "t");
  h.Settle();
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.Read(h.pending()[0]);
  h.ledger().Cool();
  h.Deliver(0);
  EXPECT_EQ(StoredTasks(), 10u);
  ASSERT_EQ(h.pending().size(), 1u);
  EXPECT_EQ(std::get<FindPurged>(h.pending()[0].request).rows_max, 1u);
  h.Settle();
  EXPECT_EQ(StoredTasks(), 0u);
}

TEST_F(MachinePurge, ARestartGoesOnWithTheCleaning) {
  CreateTasks(10, "t");
  h.Settle();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.Deliver(0);
  EXPECT_EQ(StoredTasks(), 6u);
  h.Restart();
  EXPECT_EQ(Code("t9"), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t9"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.Settle();
  EXPECT_EQ(StoredTasks(), 0u);
  h.Restart();
  for (const auto& load : h.pending()) {
    EXPECT_FALSE(std::holds_alternative<FindPurged>(load.request)) << "it is done";
  }
}

TEST_F(MachinePurge, NamesStayReservedForTheTombstoneTtlFromThePurge) {
  CreateTasks(2, "t");
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t1"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.RunFor(kTombstoneTtlDefault - absl::Microseconds(1));
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t1"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.RunFor(absl::Microseconds(1));
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t1"}).ok());
}

TEST_F(MachinePurge, ACleaningThatComesAfterTheReservationFreesTheNames) {
  CreateTasks(2, "t");
  h.Settle();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.SkipTo(h.now() + absl::Hours(2));
  h.Restart();
  h.Settle();
  EXPECT_EQ(h.ledger().tombstone_count(), 0u);
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t1"}).ok());
}

TEST_F(MachinePurge, ALaterPurgeDuringTheCleaningCoversTheRest) {
  CreateTasks(6, "a");
  h.Settle();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.Read(h.pending()[0]);
  CreateTasks(6, "b");
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  CreateTasks(1, "c");
  h.Settle();
  EXPECT_EQ(StoredTasks(), 1u);
  EXPECT_EQ(TaskCount(), 1u);
  EXPECT_EQ(h.ended().size(), 12u);
}

TEST_F(MachinePurge, TheOutcomeOfAnAttemptOpenAtThePurgeIsIgnored) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.RespondFirst(500);
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  ASSERT_EQ(h.ended().size(), 1u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kPurged);
}

TEST_F(MachinePurge, APausedQueueCanBePurged) {
  CreateTasks(3, "t");
  ASSERT_TRUE(h.PauseQueue("q").ok());
  EXPECT_EQ(h.PurgeQueue("q")->state, QueueState::kPaused);
  h.Settle();
  EXPECT_EQ(StoredTasks(), 0u);
}

TEST_F(MachinePurge, ADeletedQueueEndsTheCleaning) {
  CreateTasks(10, "t");
  h.Settle();
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  h.Settle();
  EXPECT_TRUE(h.ledger().queues().empty());
}

}  // namespace
}  // namespace sluice::core
