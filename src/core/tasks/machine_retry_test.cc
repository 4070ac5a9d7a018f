// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "core/tasks/testing/machine_harness.h"

// What follows from the outcome of an attempt.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestQueue;
using Kind = AttemptOutcome::Kind;

class MachineRetry : public ::testing::Test {
 protected:
  void CreateQueue(const QueuePatch& settings) { ASSERT_TRUE(h.CreateQueue("q", settings).ok()); }
  void CreateTask(NewTask task = {}) {
    task.task_id = "t";
    ASSERT_TRUE(h.CreateTask("q", std::move(task)).ok());
    h.Settle();
    ASSERT_EQ(h.open().size(), 1u);
  }
  /// Runs to the next attempt and returns what it is sent with. Requires: there is one.
  TaskProgress NextAttempt() {
    while (h.open().empty() && h.ended().empty()) h.RunUntil(h.machine().NextDeadline());
    EXPECT_EQ(h.open().size(), 1u);
    return h.open().empty() ? TaskProgress{} : h.open().front().task.progress;
  }
  TaskProgress Stored() { return h.GetTask("q", "t")->progress; }
  bool IsGone() { return h.GetTask("q", "t").status().code() == absl::StatusCode::kNotFound; }

  MachineHarness h;
};

TEST_F(MachineRetry, IntervalsFollowTheFailureTimes) {
  CreateQueue(
      {.min_backoff = absl::Seconds(10), .max_backoff = absl::Seconds(300), .max_doublings = 3});
  CreateTask();
  for (const int seconds : {10, 20, 40, 80, 160, 240, 300, 300}) {
    h.RunFor(absl::Seconds(2));  // how long the handler takes to fail
    h.RespondFirst(500);
    EXPECT_EQ(Stored().schedule_time, h.now() + absl::Seconds(seconds));
    const TaskProgress sent = NextAttempt();
    EXPECT_EQ(sent.last_attempt->dispatch_time, sent.schedule_time);
  }
}

TEST_F(MachineRetry, CountersFollowTheRecordedSequence) {
  CreateQueue({});
  CreateTask();
  struct Step {
    int status;
    int execution_count;  // sent with the attempt that gets `status`
    int previous;
  };
  int attempt = 0;
  for (const Step& step : {Step{503, 0, 0}, Step{404, 0, 503}, Step{429, 1, 404}, Step{500, 2, 429},
                           Step{302, 2, 500}, Step{200, 3, 302}}) {
    const TaskProgress sent = NextAttempt();
    ++attempt;
    EXPECT_EQ(sent.dispatch_count, attempt);
    EXPECT_EQ(sent.response_count, attempt - 1);
    EXPECT_EQ(sent.execution_count, step.execution_count);
    EXPECT_EQ(sent.previous_response, step.previous);
    h.RespondFirst(step.status);
  }
  EXPECT_TRUE(IsGone());
}

TEST_F(MachineRetry, ATimeOutCountsNoResponseAndTellsTheNextAttempt504) {
  CreateQueue({});
  CreateTask();
  h.Finish(h.open().front().id, {.kind = Kind::kTimedOut});
  const TaskProgress stored = Stored();
  EXPECT_EQ(stored.dispatch_count, 1);
  EXPECT_EQ(stored.response_count, 0);
  EXPECT_EQ(stored.execution_count, 0);
  EXPECT_EQ(stored.previous_response, 504);
  EXPECT_EQ(stored.last_attempt->response_time, h.now());
  EXPECT_EQ(stored.last_attempt->status.code, 4);
}

TEST_F(MachineRetry, AFailedConnectionCountsNoResponseAndTellsTheNextAttempt503) {
  CreateQueue({});
  CreateTask();
  h.Finish(h.open().front().id, {.kind = Kind::kConnectionFailed, .message = "refused by peer"});
  const TaskProgress stored = Stored();
  EXPECT_EQ(stored.response_count, 0);
  EXPECT_EQ(stored.previous_response, 503);
  EXPECT_EQ(stored.last_attempt->status.code, 14);
  EXPECT_NE(stored.last_attempt->status.message.find("refused by peer"), std::string::npos);
}

TEST_F(MachineRetry, StatusesMapToTheCodesOfTheTable) {
  CreateQueue({.max_attempts = -1});
  CreateTask();
  const std::pair<int, int> cases[] = {{400, 3}, {401, 16}, {403, 7},  {404, 5},  {409, 10},
                                       {429, 8}, {499, 1},  {500, 13}, {501, 12}, {503, 14},
                                       {504, 4}, {302, 2},  {418, 2},  {599, 2},  {100, 2}};
  for (const auto& [http, code] : cases) {
    NextAttempt();
    h.RespondFirst(http);
    EXPECT_EQ(Stored().last_attempt->status.code, code) << http;
  }
}

TEST_F(MachineRetry, AFailedAttemptIsRecordedWithAllItsTimes) {
  CreateQueue({});
  const Time created = h.now();
  CreateTask();
  h.RunFor(absl::Seconds(3));
  h.RespondFirst(503);
  const TaskProgress stored = Stored();
  EXPECT_EQ(stored.first_dispatch_time, created);
  EXPECT_EQ(stored.last_attempt->schedule_time, created);
  EXPECT_EQ(stored.last_attempt->dispatch_time, created);
  EXPECT_EQ(stored.last_attempt->response_time, created + absl::Seconds(3));
  EXPECT_NE(stored.last_attempt->status.code, 0);
}

TEST_F(MachineRetry, AfterTheLastAttemptTheTaskIsGivenUpAndItsNameReserved) {
  CreateQueue({.max_attempts = 3});
  CreateTask();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(NextAttempt().dispatch_count, attempt);
    h.RespondFirst(500);
  }
  EXPECT_TRUE(IsGone());
  ASSERT_EQ(h.ended().size(), 1u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kExhausted);
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.RunFor(absl::Minutes(30));
  EXPECT_TRUE(h.open().empty());
}

TEST_F(MachineRetry, RetriesGoOnPastTheCountUntilTheDurationIsOver) {
  CreateQueue({.max_attempts = 3,
               .max_retry_duration = absl::Seconds(60),
               .min_backoff = absl::Seconds(1),
               .max_backoff = absl::Seconds(1)});
  const Time first = h.now();
  CreateTask();
  int attempts = 1;
  for (;;) {
    h.RespondFirst(500);
    while (h.open().empty() && h.ended().empty()) h.RunUntil(h.machine().NextDeadline());
    if (!h.ended().empty()) break;
    ++attempts;
  }
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kExhausted);
  EXPECT_EQ(h.now(), first + absl::Seconds(60)) << "once it is over no attempt is made any more";
  EXPECT_EQ(attempts, 60);
}

TEST_F(MachineRetry, WithoutAnyLimitRetriesGoOnUntilTheTaskExpires) {
  CreateQueue({.max_attempts = -1});
  const Time created = h.now();
  CreateTask();
  while (h.ended().empty()) {
    h.RespondFirst(500);
    while (h.open().empty() && h.ended().empty()) h.RunUntil(h.machine().NextDeadline());
  }
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kExpired);
  EXPECT_EQ(h.now(), created + kTaskTtlDefault);
}

TEST_F(MachineRetry, ATasksOwnSettingsReplaceTheQueues) {
  CreateQueue({.max_attempts = 100});
  CreateTask({.retry = RetryConfig{.max_attempts = 2, .min_backoff = absl::Seconds(9)}});
  h.RespondFirst(500);
  EXPECT_EQ(Stored().schedule_time, h.now() + absl::Seconds(9));
  NextAttempt();
  h.RespondFirst(500);
  EXPECT_TRUE(IsGone());
}

TEST_F(MachineRetry, ChangedSettingsHoldForLaterIntervals) {
  CreateQueue({.min_backoff = absl::Seconds(1)});
  CreateTask();
  h.RespondFirst(500);
  const Time first_retry = h.now() + absl::Seconds(1);
  ASSERT_TRUE(h.UpdateQueue("q", {.min_backoff = absl::Seconds(100)}).ok());
  EXPECT_EQ(Stored().schedule_time, first_retry) << "what is computed stays";
  NextAttempt();
  h.RespondFirst(500);
  EXPECT_EQ(Stored().schedule_time, h.now() + absl::Seconds(200));
}

TEST_F(MachineRetry, LoweredLimitsEndAWaitingTaskInsteadOfSendingItAgain) {
  CreateQueue({.min_backoff = absl::Seconds(1)});
  CreateTask();
  h.RespondFirst(500);
  ASSERT_TRUE(h.UpdateQueue("q", {.max_attempts = 1}).ok());
  h.RunFor(absl::Seconds(5));
  EXPECT_TRUE(h.open().empty());
  EXPECT_TRUE(IsGone());
}

TEST_F(MachineRetry, AnOutcomeThatComesTwiceCountsOnce) {
  CreateQueue({});
  CreateTask();
  const AttemptId id = h.open().front().id;
  h.RespondFirst(500);
  const TaskProgress once = Stored();
  h.machine().AttemptFinished(id, {.http_status = 200}, h.now());
  h.machine().AttemptFinished(AttemptId{123456}, {.http_status = 200}, h.now());
  EXPECT_EQ(Stored(), once);
}

}  // namespace
}  // namespace sluice::core
