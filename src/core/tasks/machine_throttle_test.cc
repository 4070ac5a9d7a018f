// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/tasks/testing/machine_harness.h"

// Overloaded targets and the queue's pace, and what tasks of App Engine targets are told
// of their last attempt.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestQueue;
using Kind = AttemptOutcome::Kind;

class MachineThrottle : public ::testing::Test {
 protected:
  void CreateQueue(double rate = 10, MachineHarness* harness = nullptr) {
    MachineHarness& at = harness != nullptr ? *harness : h;
    ASSERT_TRUE(at.CreateQueue("q", {.max_dispatches_per_second = rate,
                                     .min_backoff = absl::Milliseconds(1),
                                     .max_backoff = absl::Milliseconds(1)})
                    .ok());
  }
  void CreateTasks(int count, bool is_app_engine = false) {
    for (int i = 0; i < count; ++i) {
      NewTask task{.task_id = "t" + std::to_string(created_++)};
      if (is_app_engine) task.request.app_engine = AppEngineRouting{};
      ASSERT_TRUE(h.CreateTask("q", std::move(task)).ok());
    }
    h.Settle();
  }
  double EffectiveRate() { return h.machine().Stats(TestQueue("q"), h.now())->effective_rate; }
  void Answer(std::int32_t status, Duration retry_after = absl::ZeroDuration()) {
    ASSERT_FALSE(h.open().empty());
    h.Finish(h.open().front().id, {.http_status = status, .retry_after = retry_after});
    h.Settle();
  }

  MachineHarness h;
  int created_ = 0;
};

TEST_F(MachineThrottle, TooManyRequestsSlowTheQueueAndLeaveItsSettings) {
  CreateQueue();
  CreateTasks(1);
  Answer(429);
  EXPECT_EQ(EffectiveRate(), 5);
  EXPECT_EQ(h.machine().GetQueue(TestQueue("q"))->config.rate.max_dispatches_per_second, 10);
}

TEST_F(MachineThrottle, ASlowedQueueHasNoBurstAndRecovers) {
  CreateQueue();
  CreateTasks(1);
  Answer(503);
  h.RunFor(absl::Seconds(10));
  ASSERT_EQ(h.open().size(), 1u);
  Answer(200);
  CreateTasks(3);
  h.RunFor(absl::Seconds(5));
  for (int i = 0; i < 20; ++i) {
    while (h.open().empty()) h.RunUntil(h.machine().NextDeadline());
    Answer(200);
    CreateTasks(1);
  }
  EXPECT_EQ(EffectiveRate(), 10);
}

TEST_F(MachineThrottle, OneAtATimeAtTheSlowedPace) {
  CreateQueue();
  CreateTasks(1);
  Answer(503);  // 5 a second, a burst of one
  ASSERT_TRUE(h.DeleteTask("q", "t0").ok());
  CreateTasks(6);
  std::size_t sent = h.open().size();
  EXPECT_LE(sent, 1u);
  h.RunFor(absl::Seconds(1));
  EXPECT_LE(h.open().size(), sent + 5);
  EXPECT_GE(h.open().size(), 5u);
}

TEST_F(MachineThrottle, RetryAfterIsTheLeastDelayOfTheTaskAndStopsTheQueue) {
  CreateQueue();
  CreateTasks(1);
  const Time failed_at = h.now();
  Answer(429, absl::Seconds(30));
  EXPECT_EQ(h.GetTask("q", "t0")->progress.schedule_time, failed_at + absl::Seconds(30));
  CreateTasks(1);
  h.RunUntil(failed_at + absl::Seconds(30) - absl::Microseconds(1));
  EXPECT_TRUE(h.open().empty());
  h.RunUntil(failed_at + absl::Seconds(31));
  EXPECT_EQ(h.open().size(), 2u);
}

TEST_F(MachineThrottle, RunTaskPassesTheStoppedQueue) {
  CreateQueue();
  CreateTasks(1);
  Answer(429, absl::Seconds(30));
  ASSERT_TRUE(h.RunTask("q", "t0").ok());
  h.Settle();
  EXPECT_EQ(h.open().size(), 1u);
}

TEST_F(MachineThrottle, AnExplanationNamesTheThrottle) {
  CreateQueue();
  CreateTasks(1);
  Answer(503, absl::Seconds(30));
  CreateTasks(1);
  const auto explanation = h.ExplainTask("q", "t1");
  ASSERT_EQ(explanation->waits.size(), 1u);
  EXPECT_EQ(explanation->waits[0].reason, Wait::Reason::kThrottled);
  EXPECT_EQ(explanation->waits[0].until, h.now() + absl::Seconds(30));
}

TEST_F(MachineThrottle, AppEngineThrottlesBy503And429IsAPlainFailure) {
  CreateQueue();
  CreateTasks(1, /*is_app_engine=*/true);
  Answer(429, absl::Seconds(30));
  EXPECT_EQ(EffectiveRate(), 10);
  h.RunFor(absl::Seconds(1));
  ASSERT_EQ(h.open().size(), 1u) << "no Retry-After either";
  Answer(503);
  EXPECT_EQ(EffectiveRate(), 5);
}

TEST_F(MachineThrottle, WithoutThrottlingNothingSlowsDown) {
  TaskLimits limits;
  limits.throttles = false;
  MachineHarness free(limits);
  CreateQueue(10, &free);
  ASSERT_TRUE(free.CreateTask("q", {.task_id = "t"}).ok());
  free.Settle();
  free.Finish(free.open().front().id, {.http_status = 503, .retry_after = absl::Seconds(30)});
  EXPECT_EQ(free.machine().Stats(TestQueue("q"), free.now())->effective_rate, 10);
  EXPECT_EQ(free.GetTask("q", "t")->progress.schedule_time, free.now() + absl::Milliseconds(1));
}

TEST_F(MachineThrottle, ARestartForgetsTheThrottle) {
  CreateQueue();
  CreateTasks(1);
  Answer(503, absl::Seconds(30));
  h.Restart();
  EXPECT_EQ(EffectiveRate(), 10);
}

TEST_F(MachineThrottle, AnUpdateOfTheRateKeepsTheShare) {
  CreateQueue();
  CreateTasks(1);
  Answer(503);
  ASSERT_TRUE(h.UpdateQueue("q", {.max_dispatches_per_second = 100}).ok());
  EXPECT_EQ(EffectiveRate(), 50);
}

// Spec 4.2: an App Engine attempt that nothing is known of is told as zero.
TEST_F(MachineThrottle, AnAppEngineAttemptWithoutAResponseIsToldAsZero) {
  CreateQueue();
  CreateTasks(1, /*is_app_engine=*/true);
  Answer(404);
  EXPECT_EQ(h.GetTask("q", "t0")->progress.previous_response, 404);
  for (const Kind kind : {Kind::kTimedOut, Kind::kConnectionFailed}) {
    h.RunFor(absl::Seconds(1));
    h.Finish(h.open().front().id, {.kind = kind});
    EXPECT_EQ(h.GetTask("q", "t0")->progress.previous_response, 0);
  }
  EXPECT_EQ(h.GetTask("q", "t0")->progress.response_count, 1);
}

TEST_F(MachineThrottle, AttemptsCarryTheQueuesTargetsOfTheirStart) {
  CreateQueue();
  CreateTasks(1);
  EXPECT_TRUE(h.open().front().targets.empty());
  auto patch = std::make_shared<TargetPatch>();
  patch->host = "b.example";
  QueuePatch update;
  update.targets = patch;
  ASSERT_TRUE(h.UpdateQueue("q", update).ok());
  Answer(500);
  h.RunFor(absl::Seconds(1));
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().targets.http().uri.host, "b.example");
}

}  // namespace
}  // namespace sluice::core
