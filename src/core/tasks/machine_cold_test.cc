// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/tasks/testing/machine_harness.h"

// State that is not in memory: cold reads of commands, bodies loaded before
// they are sent, windows over long backlogs, restarts.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::PendingLoad;
using testing::TestEpoch;
using testing::TestQueue;

constexpr TaskLimits kSmall{
    .window_rows_max = 8, .window_rows_low = 3, .prefetch_rows_max = 4, .purge_rows_max = 4};

std::vector<std::string> OpenIds(const MachineHarness& h) {
  std::vector<std::string> ids;
  for (const StartAttempt& attempt : h.open()) ids.push_back(attempt.task.body->task_id);
  return ids;
}

template <typename Request>
std::ptrdiff_t CountPending(MachineHarness& h) {
  return std::count_if(h.pending().begin(), h.pending().end(), [](const PendingLoad& load) {
    return std::holds_alternative<Request>(load.request);
  });
}

/// Creates tasks t0, t1, ... a second apart, the first due a second from now.
void CreateBacklog(MachineHarness& h, int count) {
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(h.CreateTask("q", {.task_id = fmt::format("t{}", i),
                                   .schedule_time = h.now() + absl::Seconds(i + 1)})
                    .ok());
  }
}

TEST(MachineCold, ColdReadIsNotMistakenForAnotherStatus) {
  EXPECT_TRUE(IsColdRead(ColdRead()));
  EXPECT_FALSE(IsColdRead(absl::OkStatus()));
  EXPECT_FALSE(IsColdRead(Internal("the record is being read from disk")));
}

TEST(MachineCold, CommandsOnColdRecordsAnswerAfterTheRead) {
  MachineHarness h;
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  const std::string generated =
      h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(1)})->body->task_id;
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .schedule_time = h.now() + absl::Hours(1)}).ok());
  h.ledger().Cool();
  // The harness ends the process when a cold command left a trace.
  EXPECT_TRUE(h.GetTask("q", generated).ok());
  EXPECT_TRUE(h.GetTask("q", "t").ok());
  h.ledger().Cool();
  EXPECT_TRUE(h.ExplainTask("q", "t").ok());
  EXPECT_EQ(h.CreateTask("q", {.task_id = "t"}).status().code(), absl::StatusCode::kAlreadyExists);
  h.ledger().Cool();
  EXPECT_TRUE(h.RunTask("q", "t").ok());
  h.ledger().Cool();
  EXPECT_TRUE(h.DeleteTask("q", "t").ok());
  h.ledger().Cool();
  EXPECT_TRUE(h.DeleteTask("q", generated).ok());
  EXPECT_GE(h.cold_commands(), 6u);
}

TEST(MachineCold, AnUnnamedCreateReadsNothing) {
  MachineHarness h;
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q").ok());
  EXPECT_EQ(h.cold_commands(), 0u);
}

TEST(MachineCold, ColdBodiesAreLoadedTogetherBeforeTheyAreSent) {
  MachineHarness h(kSmall);
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.ledger().Cool();
  h.Advance();
  EXPECT_TRUE(h.open().empty());
  ASSERT_EQ(CountPending<LoadTasks>(h), 1);
  const auto load = std::find_if(h.pending().begin(), h.pending().end(), [](const auto& p) {
    return std::holds_alternative<LoadTasks>(p.request);
  });
  EXPECT_EQ(std::get<LoadTasks>(load->request).sequences, (std::vector<Sequence>{1, 2, 3, 4}));
  h.Advance();
  EXPECT_EQ(CountPending<LoadTasks>(h), 1) << "asked for once";
  h.Settle();
  EXPECT_EQ(h.open().size(), 6u);
}

TEST(MachineCold, AFrontThatIsColdAgainAfterItsLoadIsLoadedAlone) {
  MachineHarness h(kSmall);
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.Restart();
  while (CountPending<LoadTasks>(h) == 0) {
    if (!h.pending().empty()) h.Deliver(0);
    h.SkipTo(h.now() + absl::Milliseconds(10));
    h.Advance();
  }
  h.Deliver(h.pending().size() - 1);
  h.ledger().Cool();  // a cache that could not hold them
  h.Advance();
  ASSERT_EQ(CountPending<LoadTasks>(h), 1);
  EXPECT_EQ(std::get<LoadTasks>(h.pending().back().request).sequences, (std::vector<Sequence>{1}));
}

TEST(MachineCold, ATaskDeletedWhileItsBodyIsLoadedIsNotSent) {
  MachineHarness h(kSmall);
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "u"}).ok());
  h.ledger().MakeReadsCold();
  h.ledger().Cool();
  h.Advance();
  ASSERT_TRUE(h.DeleteTask("q", "t").ok());
  h.Settle();
  EXPECT_EQ(OpenIds(h), (std::vector<std::string>{"u"}));
}

TEST(MachineCold, ABacklogFarLargerThanTheWindowIsSentWholeAndInOrder) {
  constexpr int kTasks = 500;
  MachineHarness h(kSmall);
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  // Schedule times in an order that is not that of creation.
  for (int i = 0; i < kTasks; ++i) {
    const int second = (i * 7919) % kTasks;
    ASSERT_TRUE(h.CreateTask("q", {.schedule_time = h.now() + absl::Seconds(second)}).ok());
  }
  h.ledger().Cool();
  for (int sent = 0; sent < kTasks; ++sent) {
    h.RunUntil(TestEpoch() + absl::Seconds(sent));
    ASSERT_EQ(h.open().size(), 1u);
    EXPECT_EQ(h.open().front().task.progress.schedule_time, TestEpoch() + absl::Seconds(sent));
    h.RespondFirst(200);
  }
}

TEST(MachineCold, ALateAnswerDoesNotBringBackWhatEndedMeanwhile) {
  MachineHarness h(kSmall);
  ASSERT_TRUE(h.CreateQueue("q").ok());
  CreateBacklog(h, 20);
  h.Settle();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(h.DeleteTask("q", fmt::format("t{}", i)).ok());
  h.Advance();
  ASSERT_EQ(CountPending<LoadWindow>(h), 1);
  h.Read(h.pending().back());
  // Beyond the bound: one goes, one comes, one is forced and fails.
  ASSERT_TRUE(h.DeleteTask("q", "t9").ok());
  ASSERT_TRUE(
      h.CreateTask("q", {.task_id = "new", .schedule_time = TestEpoch() + absl::Seconds(10)}).ok());
  ASSERT_TRUE(h.RunTask("q", "t10").ok());
  ASSERT_TRUE(h.RunTask("q", "t11").ok());
  h.RespondFirst(500);
  h.Deliver(h.pending().size() - 1);
  h.RunUntil(TestEpoch() + absl::Minutes(5));
  const std::vector<std::string> expected = {"t11", "t10", "t6",  "t7",  "t8",  "new", "t12",
                                             "t13", "t14", "t15", "t16", "t17", "t18", "t19"};
  EXPECT_EQ(OpenIds(h), expected);
}

TEST(MachineCold, ALateAnswerDoesNotBringBackATaskThatWasForcedTwice) {
  MachineHarness h(kSmall);
  ASSERT_TRUE(h.CreateQueue("q").ok());
  CreateBacklog(h, 10);
  ASSERT_TRUE(h.PauseQueue("q").ok());
  h.Settle();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(h.DeleteTask("q", fmt::format("t{}", i)).ok());
  h.SkipTo(TestEpoch() + absl::Minutes(5));  // now lies behind all that is scheduled
  h.Advance();
  ASSERT_EQ(CountPending<LoadWindow>(h), 1);
  ASSERT_TRUE(h.RunTask("q", "t6").ok());
  h.Read(h.pending().back());
  h.SkipTo(h.now() + absl::Seconds(1));
  ASSERT_TRUE(h.RunTask("q", "t6").ok());
  h.RespondFirst(200);
  h.Deliver(h.pending().size() - 1);
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  h.Settle();
  h.RespondFirst(500);  // the first of the two that were forced, long over
  for (const std::string& id : OpenIds(h)) EXPECT_NE(id, "t6");
  EXPECT_EQ(h.open().size(), 3u);
}

TEST(MachineCold, PurgedEntriesOfALateAnswerStayOut) {
  MachineHarness h(kSmall);
  ASSERT_TRUE(h.CreateQueue("q").ok());
  CreateBacklog(h, 20);
  h.Settle();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(h.DeleteTask("q", fmt::format("t{}", i)).ok());
  h.Advance();
  ASSERT_EQ(CountPending<LoadWindow>(h), 1);
  h.Read(h.pending().back());
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.RunFor(absl::Minutes(5));
  EXPECT_TRUE(h.open().empty());
}

TEST(MachineCold, ARestartLosesNoTaskAndSendsNoneEarly) {
  constexpr int kTasks = 50;
  MachineHarness h(kSmall);
  h.ledger().MakeReadsCold();
  ASSERT_TRUE(h.CreateQueue("q").ok());
  CreateBacklog(h, kTasks);
  for (int i = 0; i < kTasks; ++i) {
    if (i % 7 == 3) h.Restart();
    const Time due = TestEpoch() + absl::Seconds(i + 1);
    h.RunUntil(due - absl::Microseconds(1));
    ASSERT_TRUE(h.open().empty());
    h.RunUntil(due);
    ASSERT_EQ(OpenIds(h), (std::vector<std::string>{fmt::format("t{}", i)}));
    h.RespondFirst(200);
  }
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->task_count, 0u);
}

TEST(MachineCold, AnAttemptCutOffByACrashIsMadeAgain) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  const Time first = h.now();
  h.RunFor(absl::Seconds(5));
  h.Restart();
  h.RunFor(absl::Seconds(1));
  ASSERT_EQ(h.open().size(), 1u);
  const TaskProgress progress = h.open().front().task.progress;
  EXPECT_EQ(progress.dispatch_count, 2);
  EXPECT_EQ(progress.response_count, 0);
  EXPECT_EQ(progress.first_dispatch_time, first);
}

TEST(MachineCold, ATaskWhoseLastOutcomeACrashLostIsGivenUp) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_attempts = 1}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  h.Restart();
  h.RunFor(absl::Seconds(1));
  EXPECT_TRUE(h.open().empty());
  ASSERT_EQ(h.ended().size(), 1u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kExhausted);
}

TEST(MachineCold, BucketsStartEmptyAfterARestart) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 1}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.Restart();
  h.Settle();
  EXPECT_TRUE(h.open().empty());
  h.RunFor(absl::Milliseconds(2500));
  EXPECT_EQ(h.open().size(), 2u);
}

TEST(MachineCold, SettingsPauseAndNamesSurviveARestart) {
  MachineHarness h;
  const auto before = h.CreateQueue("q", {.max_dispatches_per_second = 3, .max_attempts = 9});
  ASSERT_TRUE(h.PauseQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "live"}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "gone"}).ok());
  ASSERT_TRUE(h.DeleteTask("q", "gone").ok());
  h.Restart();
  const auto after = h.machine().GetQueue(TestQueue("q"));
  EXPECT_EQ(after->config, before->config);
  EXPECT_EQ(after->state, QueueState::kPaused);
  for (const char* id : {"live", "gone"}) {
    EXPECT_EQ(h.CreateTask("q", {.task_id = id}).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_GT(h.CreateQueue("r")->incarnation, before->incarnation);
}

TEST(MachineCold, IdleQueuesAskForNothingAfterARestart) {
  constexpr int kQueues = 50;
  MachineHarness h;
  for (int i = 0; i < kQueues; ++i) ASSERT_TRUE(h.CreateQueue(fmt::format("q{}", i)).ok());
  h.Settle();
  h.Restart();
  for (const auto& load : h.pending()) {
    EXPECT_TRUE(std::holds_alternative<FindTombstones>(load.request));
  }
}

}  // namespace
}  // namespace sluice::core
