// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/tasks/task_id.h"
#include "core/tasks/testing/machine_harness.h"

// Creating tasks and finding them again: what is stored, names, reservations,
// generated ids.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestEpoch;
using testing::TestQueue;

constexpr Duration kTombstoneTtl = kTombstoneTtlDefault;

bool Mentions(const Status& status, std::string_view text) {
  return Message(status).find(text) != std::string_view::npos;
}

class MachineCreate : public ::testing::Test {
 protected:
  MachineCreate() { EXPECT_TRUE(h.CreateQueue("q").ok()); }

  /// Runs a named task to its end.
  void Execute(std::string_view task_id) {
    ASSERT_TRUE(h.CreateTask("q", {.task_id = std::string(task_id)}).ok());
    h.Settle();
    h.RespondFirst(200);
  }

  MachineHarness h;
};

TEST_F(MachineCreate, StoresTheRequestAndStartsAllCountersAtZero) {
  const auto task = h.CreateTask("q", {.dispatch_deadline = absl::Seconds(20),
                                       .request = {.url = "http://a/x", .body = "payload"}});
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->body->create_time, h.now());
  EXPECT_EQ(task->body->schedule_time, h.now());
  EXPECT_EQ(task->body->dispatch_deadline, absl::Seconds(20));
  EXPECT_EQ(task->body->request.url, "http://a/x");
  EXPECT_EQ(task->body->request.body, "payload");
  EXPECT_EQ(task->progress, TaskProgress{.schedule_time = h.now()});
  const auto found = h.GetTask("q", task->body->task_id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->body, task->body) << "bodies are shared, not copied";
}

TEST_F(MachineCreate, ATaskIsMovedFromOnlyWhenItWasCreated) {
  NewTask task{.task_id = "t", .request = {.body = "payload"}};
  ASSERT_FALSE(h.machine().CreateTask(TestQueue("missing"), std::move(task), h.now()).ok());
  EXPECT_EQ(task.request.body, "payload");
  ASSERT_TRUE(h.machine().CreateTask(TestQueue("q"), task, h.now()).ok());
  EXPECT_EQ(task.request.body, "payload") << "the copying form leaves it alone";
}

TEST_F(MachineCreate, APastScheduleTimeBecomesNow) {
  const auto task = h.CreateTask("q", {.schedule_time = h.now() - absl::Hours(1)});
  EXPECT_EQ(task->progress.schedule_time, h.now());
}

TEST_F(MachineCreate, AScheduleTimeIsKeptToTheMicrosecond) {
  const Time wanted = h.now() + absl::Seconds(5) + absl::Nanoseconds(1999);
  const auto task = h.CreateTask("q", {.schedule_time = wanted});
  EXPECT_EQ(task->progress.schedule_time, h.now() + absl::Seconds(5) + absl::Microseconds(1));
}

TEST_F(MachineCreate, AScheduleTimeTooFarAheadIsRefusedWithTheLimit) {
  EXPECT_TRUE(h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(720)}).ok());
  const Status refused = h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(721)}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Mentions(refused, "720h")) << Message(refused);
}

TEST_F(MachineCreate, ATasksOwnRetrySettingsAreCheckedLikeAQueues) {
  const Status refused =
      h.CreateTask("q", {.task_id = "t", .retry = RetryConfig{.max_attempts = -2}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Mentions(refused, "max_attempts")) << Message(refused);
  EXPECT_TRUE(Mentions(refused, "tasks/t")) << Message(refused);
}

TEST_F(MachineCreate, GeneratedIdsDifferAndLeadToTheirTasks) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const auto task = h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(1)});
    ASSERT_TRUE(task.ok());
    EXPECT_EQ(task->body->task_id.size(), kGeneratedIdLength);
    EXPECT_TRUE(ids.insert(task->body->task_id).second);
  }
  for (const std::string& id : ids) EXPECT_EQ(h.GetTask("q", id)->body->task_id, id);
  EXPECT_TRUE(h.ledger().queues().begin()->second.names.empty()) << "they need no index";
}

TEST_F(MachineCreate, ASecondTaskOfOneNameIsRefusedAndTheFirstUnchanged) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .request = {.body = "first"}}).ok());
  const Status refused =
      h.CreateTask("q", {.task_id = "t", .request = {.body = "second"}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Mentions(refused, "projects/p/locations/l/queues/q/tasks/t")) << Message(refused);
  EXPECT_EQ(h.GetTask("q", "t")->body->request.body, "first");
}

TEST_F(MachineCreate, OneNameMayBeUsedInTwoQueues) {
  ASSERT_TRUE(h.CreateQueue("r").ok());
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  EXPECT_TRUE(h.CreateTask("r", {.task_id = "t"}).ok());
}

TEST_F(MachineCreate, AnExecutedTasksNameIsReservedForTheTombstoneTtlExactly) {
  Execute("t");
  const Time ended = h.now();
  h.RunUntil(ended + kTombstoneTtl - absl::Microseconds(1));
  const Status refused = h.CreateTask("q", {.task_id = "t"}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Mentions(refused, "reserved until")) << Message(refused);
  h.SkipTo(ended + kTombstoneTtl);
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
}

TEST_F(MachineCreate, ADeletedTasksNameIsReservedToo) {
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  ASSERT_TRUE(h.DeleteTask("q", "t").ok());
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.RunFor(kTombstoneTtl);
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
}

TEST_F(MachineCreate, TombstonesAreSweptWhenTheirTimeIsOver) {
  for (int i = 0; i < 1000; ++i) {
    Execute(fmt::format("t{}", i));
    h.RunFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(h.ledger().tombstone_count(), 1000u);
  h.RunUntil(TestEpoch() + kTombstoneTtl + absl::Seconds(5));
  EXPECT_GT(h.ledger().tombstone_count(), 400u);
  EXPECT_LT(h.ledger().tombstone_count(), 600u);
  h.RunFor(absl::Minutes(1));
  EXPECT_EQ(h.ledger().tombstone_count(), 0u);
  EXPECT_TRUE(h.ledger().queues().begin()->second.names.empty());
}

TEST_F(MachineCreate, TombstonesOfADeletedQueueAreSweptFromTheOrderOfExpiry) {
  Execute("t");
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  EXPECT_EQ(h.ledger().tombstone_count(), 1u);
  h.RunFor(kTombstoneTtl);
  EXPECT_EQ(h.ledger().tombstone_count(), 0u);
}

TEST_F(MachineCreate, ANameReusedWhileASweepIsUnderWaySurvivesIt) {
  Execute("t");
  h.RunFor(kTombstoneTtl - absl::Microseconds(1));
  h.SkipTo(h.now() + absl::Microseconds(1));
  h.Advance();
  ASSERT_EQ(h.pending().size(), 1u) << "the sweep";
  h.Read(h.pending()[0]);
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .schedule_time = h.now() + absl::Hours(1)}).ok());
  h.Deliver(0);
  EXPECT_TRUE(h.GetTask("q", "t").ok());
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(MachineCreate, AnIdleServerDoesNotWakeEverySecondForTombstones) {
  h.Settle();
  EXPECT_GE(h.machine().NextDeadline(), h.now() + absl::Hours(1));
}

TEST_F(MachineCreate, NotFoundSaysWhetherTheTaskEverWas) {
  Execute("done");
  const std::string generated = h.CreateTask("q")->body->task_id;
  ASSERT_TRUE(h.DeleteTask("q", generated).ok());
  for (const std::string& id : {std::string("done"), generated}) {
    const Status status = h.GetTask("q", id).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(Mentions(status, "no longer exists")) << Message(status);
  }
  for (const char* id : {"never", "1234567890123456789"}) {
    const Status status = h.GetTask("q", id).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(Mentions(status, "does not exist")) << Message(status);
  }
  EXPECT_EQ(h.DeleteTask("q", "done").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.RunTask("q", "done").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(h.ExplainTask("q", "done").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MachineCreate, AGeneratedIdIsNeverUsedAgain) {
  const std::string id = h.CreateTask("q")->body->task_id;
  EXPECT_EQ(h.CreateTask("q", {.task_id = id}).status().code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(h.DeleteTask("q", id).ok());
  h.RunFor(absl::Hours(24 * 40));
  EXPECT_EQ(h.CreateTask("q", {.task_id = id}).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(MachineCreate, AGeneratedIdOfOneQueueMayNameATaskInAnother) {
  const std::string id = h.CreateTask("q")->body->task_id;
  ASSERT_TRUE(h.CreateQueue("r").ok());
  ASSERT_TRUE(h.CreateTask("r", {.task_id = id}).ok());
  EXPECT_TRUE(h.GetTask("r", id).ok());
}

/// A user name of the generated form whose sequence is `ahead` from now.
std::string Lookalike(MachineHarness& h, Sequence ahead) {
  // Learn the queue's ids from a machine over the same key: one that is ahead.
  MachineHarness twin;
  EXPECT_TRUE(twin.CreateQueue("q").ok());
  while (twin.machine().next_sequence() < h.machine().next_sequence() + ahead) {
    EXPECT_TRUE(twin.CreateTask("q").ok());
  }
  return twin.CreateTask("q")->body->task_id;
}

TEST_F(MachineCreate, AUserNameThatLooksLikeAnIdToComeIsSkippedByGeneration) {
  constexpr Sequence kAhead = 5;
  const std::string taken = Lookalike(h, kAhead);
  const auto named =
      h.CreateTask("q", {.task_id = taken, .schedule_time = h.now() + absl::Hours(9)});
  ASSERT_TRUE(named.ok());
  h.Restart();  // what is known of it must survive
  std::set<std::string> ids{taken};
  for (int i = 0; i < 20; ++i) {
    const auto task = h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(9)});
    ASSERT_TRUE(task.ok());
    EXPECT_TRUE(ids.insert(task->body->task_id).second);
  }
  for (const std::string& id : ids) {
    const auto found = h.GetTask("q", id);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->body->task_id, id);
  }
  EXPECT_EQ(h.GetTask("q", taken)->body->sequence, named->body->sequence);
}

TEST_F(MachineCreate, ALookalikeIsSkippedWhileItsTombstoneLasts) {
  const std::string taken = Lookalike(h, 3);
  ASSERT_TRUE(h.CreateTask("q", {.task_id = taken}).ok());
  ASSERT_TRUE(h.DeleteTask("q", taken).ok());
  for (int i = 0; i < 10; ++i) EXPECT_NE(h.CreateTask("q")->body->task_id, taken);
  EXPECT_EQ(h.GetTask("q", taken).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sluice::core
