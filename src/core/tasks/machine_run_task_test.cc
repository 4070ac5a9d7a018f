// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/tasks/testing/machine_harness.h"

// RunTask (spec 3.6): an attempt now, whatever schedule, rate, concurrency and
// pause say, and exactly one chain of attempts afterwards.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestQueue;

constexpr Duration kDay = absl::Hours(24);

class MachineRunTask : public ::testing::Test {
 protected:
  void CreateQueue(const QueuePatch& settings = {}) {
    ASSERT_TRUE(h.CreateQueue("q", settings).ok());
  }
  void CreateTaskDueIn(Duration wait) {
    ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .schedule_time = h.now() + wait}).ok());
    h.Settle();
  }
  bool IsGone() { return h.GetTask("q", "t").status().code() == absl::StatusCode::kNotFound; }

  MachineHarness h;
};

TEST_F(MachineRunTask, SendsATaskDueTomorrowNowAndOnlyOnce) {
  CreateQueue();
  CreateTaskDueIn(kDay);
  h.RunFor(absl::Seconds(5));
  const auto running = h.RunTask("q", "t");
  ASSERT_TRUE(running.ok());
  EXPECT_EQ(running->progress.dispatch_count, 1);
  EXPECT_EQ(running->progress.schedule_time, h.now());
  EXPECT_EQ(running->progress.last_attempt->dispatch_time, h.now());
  EXPECT_FALSE(running->progress.last_attempt->response_time.has_value());
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.progress, running->progress);
  h.RespondFirst(200);
  EXPECT_TRUE(IsGone());
  h.RunFor(2 * kDay);
  EXPECT_TRUE(h.open().empty());
}

TEST_F(MachineRunTask, AFailureIsTriedAgainAtTheCallTimePlusTheInterval) {
  CreateQueue({.min_backoff = absl::Seconds(30)});
  CreateTaskDueIn(kDay);
  const Time call = h.now();
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  h.RunFor(absl::Seconds(10));
  h.RespondFirst(500);
  EXPECT_EQ(h.GetTask("q", "t")->progress.schedule_time, call + absl::Seconds(30));
  h.RunUntil(call + absl::Seconds(30));
  ASSERT_EQ(h.open().size(), 1u);
  h.RespondFirst(200);
  h.RunFor(2 * kDay);
  EXPECT_TRUE(h.open().empty()) << "the first schedule must be gone";
}

TEST_F(MachineRunTask, AFailureLaterThanTheIntervalIsTriedAgainNow) {
  CreateQueue({.min_backoff = absl::Seconds(1)});
  CreateTaskDueIn(kDay);
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  h.RunFor(absl::Minutes(5));
  h.RespondFirst(500);
  EXPECT_EQ(h.GetTask("q", "t")->progress.schedule_time, h.now());
}

TEST_F(MachineRunTask, IgnoresPauseBucketAndConcurrencyAndLeavesTheQueueAsItIs) {
  CreateQueue(
      {.max_dispatches_per_second = 0.001, .max_burst_size = 1, .max_concurrent_dispatches = 1});
  ASSERT_TRUE(h.CreateTask("q").ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u) << "takes the token and the only place";
  ASSERT_TRUE(h.PauseQueue("q").ok());
  CreateTaskDueIn(absl::ZeroDuration());
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  EXPECT_EQ(h.open().size(), 2u);
  EXPECT_EQ(h.machine().GetQueue(TestQueue("q"))->state, QueueState::kPaused);
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->in_flight, 2);
}

TEST_F(MachineRunTask, TakesNoToken) {
  CreateQueue({.max_dispatches_per_second = 1});
  CreateTaskDueIn(kDay);
  const double before = h.machine().Stats(TestQueue("q"), h.now())->tokens;
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->tokens, before);
}

TEST_F(MachineRunTask, ItsAttemptCountsAgainstTheConcurrencyOfOthers) {
  CreateQueue({.max_concurrent_dispatches = 1});
  CreateTaskDueIn(kDay);
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "other"}).ok());
  h.RunFor(absl::Minutes(1));
  ASSERT_EQ(h.open().size(), 1u);
  h.RespondFirst(200);
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.body->task_id, "other");
}

class TwoAttempts : public MachineRunTask {
 protected:
  void SetUp() override {
    CreateQueue({.min_backoff = absl::Seconds(10)});
    CreateTaskDueIn(absl::ZeroDuration());
    ASSERT_EQ(h.open().size(), 1u);
    h.RunFor(absl::Seconds(1));
    ASSERT_TRUE(h.RunTask("q", "t").ok());
    ASSERT_EQ(h.open().size(), 2u);
    first_ = h.open()[0].id;
    second_ = h.open()[1].id;
  }
  AttemptId first_ = 0;
  AttemptId second_ = 0;
};

TEST_F(TwoAttempts, EitherSuccessEndsTheTaskAndTheOthersOutcomeIsIgnored) {
  h.Respond(first_, 200);
  EXPECT_TRUE(IsGone());
  h.Respond(second_, 500);
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  EXPECT_EQ(h.ended().size(), 1u);
  EXPECT_EQ(h.machine().in_flight(), 0);
}

TEST_F(TwoAttempts, TheFirstFailureIsOnlyRecorded) {
  const Time scheduled = h.GetTask("q", "t")->progress.schedule_time;
  h.Respond(first_, 404);
  const TaskProgress stored = h.GetTask("q", "t")->progress;
  EXPECT_EQ(stored.response_count, 1);
  EXPECT_EQ(stored.execution_count, 1);
  EXPECT_EQ(stored.previous_response, 404);
  EXPECT_EQ(stored.schedule_time, scheduled);
  EXPECT_FALSE(stored.last_attempt->response_time.has_value()) << "the later one is still open";
  h.RunFor(absl::Seconds(60));
  EXPECT_EQ(h.open().size(), 1u) << "no retry while one is open";
}

TEST_F(TwoAttempts, TheLastFailureReschedulesOnce) {
  h.Respond(second_, 503);
  h.RunFor(absl::Seconds(2));
  h.Respond(first_, 500);
  const TaskProgress stored = h.GetTask("q", "t")->progress;
  EXPECT_EQ(stored.dispatch_count, 2);
  EXPECT_EQ(stored.response_count, 2);
  EXPECT_EQ(stored.schedule_time, h.now() + absl::Seconds(20));
  EXPECT_EQ(stored.last_attempt->status.code, 14) << "of the attempt sent last";
  h.RunUntil(stored.schedule_time);
  EXPECT_EQ(h.open().size(), 1u);
  h.RespondFirst(200);
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
}

TEST_F(TwoAttempts, ASuccessAfterARecordedFailureEndsTheTask) {
  h.Respond(second_, 500);
  h.Respond(first_, 200);
  EXPECT_TRUE(IsGone());
}

TEST_F(MachineRunTask, RunsAnExhaustedTaskPastItsMaximumWhenItStillExists) {
  CreateQueue({.max_attempts = 1});
  CreateTaskDueIn(absl::ZeroDuration());
  ASSERT_EQ(h.open().size(), 1u);
  ASSERT_TRUE(h.PauseQueue("q").ok());
  h.Restart();  // its outcome is lost
  const auto running = h.RunTask("q", "t");
  ASSERT_TRUE(running.ok());
  EXPECT_EQ(running->progress.dispatch_count, 2);
  h.RespondFirst(500);
  EXPECT_TRUE(IsGone());
  EXPECT_EQ(h.ended().back().end, TaskEnd::kExhausted);
}

TEST_F(MachineRunTask, ACrashDuringItsAttemptMakesTheTaskDueAtOnce) {
  CreateQueue();
  CreateTaskDueIn(kDay);
  ASSERT_TRUE(h.RunTask("q", "t").ok());
  h.Restart();
  h.RunFor(absl::Seconds(1));
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.progress.dispatch_count, 2);
}

}  // namespace
}  // namespace sluice::core
