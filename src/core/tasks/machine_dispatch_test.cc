// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/tasks/testing/machine_harness.h"

// When tasks are sent, in which order, and what holds them back: time, rate,
// concurrency, the server's capacity, pause.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestEpoch;
using testing::TestQueue;

std::vector<Duration> DispatchTimes(const MachineHarness& h) {
  std::vector<Duration> times;
  for (const StartAttempt& attempt : h.open()) {
    times.push_back(attempt.task.progress.last_attempt->dispatch_time - TestEpoch());
  }
  return times;
}

TEST(MachineDispatch, ATaskIsSentAtItsTimeAndNotBefore) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  const Time due = h.now() + absl::Seconds(7);
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .schedule_time = due}).ok());
  h.RunUntil(due - absl::Microseconds(1));
  EXPECT_TRUE(h.open().empty());
  h.RunUntil(due);
  ASSERT_EQ(h.open().size(), 1u);
  const StartAttempt& attempt = h.open().front();
  EXPECT_EQ(attempt.queue, TestQueue("q"));
  EXPECT_EQ(attempt.task.body->task_id, "t");
  EXPECT_EQ(attempt.task.progress.dispatch_count, 1);
  EXPECT_EQ(attempt.task.progress.response_count, 0);
  EXPECT_EQ(attempt.task.progress.first_dispatch_time, due);
  EXPECT_EQ(attempt.task.progress.last_attempt,
            (Attempt{.schedule_time = due, .dispatch_time = due}));
}

TEST(MachineDispatch, ASuccessEndsTheTask) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (const int status : {200, 204, 299}) {
    ASSERT_TRUE(h.CreateTask("q").ok());
    h.Settle();
    h.RespondFirst(status);
  }
  h.RunFor(absl::Hours(2));
  EXPECT_TRUE(h.open().empty());
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->task_count, 0u);
  ASSERT_EQ(h.ended().size(), 3u);
  EXPECT_EQ(h.ended()[0].end, TaskEnd::kDone);
}

TEST(MachineDispatch, EarlierScheduleTimesGoFirstAndThenEarlierCreation) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 1, .max_burst_size = 1}).ok());
  ASSERT_TRUE(h.PauseQueue("q").ok());
  const int seconds[] = {5, 3, 5, 1, 3};
  for (const int s : seconds) {
    ASSERT_TRUE(h.CreateTask("q", {.task_id = fmt::format("{}-{}", s, h.machine().next_sequence()),
                                   .schedule_time = h.now() + absl::Seconds(s)})
                    .ok());
  }
  h.RunFor(absl::Seconds(10));
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  h.RunFor(absl::Seconds(10));
  std::vector<std::string> order;
  for (const StartAttempt& attempt : h.open()) order.push_back(attempt.task.body->task_id);
  EXPECT_EQ(order, (std::vector<std::string>{"1-4", "3-2", "3-5", "5-1", "5-3"}));
}

TEST(MachineDispatch, TheBurstLeavesAtOnceAndTheRestAtTheRate) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 2}).ok());
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.RunFor(absl::Minutes(1));
  const auto times = DispatchTimes(h);
  ASSERT_EQ(times.size(), 15u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(times[i], absl::ZeroDuration());
  for (std::size_t i = 10; i < 15; ++i) {
    EXPECT_EQ(times[i], absl::Milliseconds(500) * static_cast<int>(i - 9));
  }
}

TEST(MachineDispatch, RetriesTakeTokensToo) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 0.25,
                                  .max_burst_size = 1,
                                  .min_backoff = absl::ZeroDuration(),
                                  .max_backoff = absl::ZeroDuration()})
                  .ok());
  ASSERT_TRUE(h.CreateTask("q").ok());
  std::vector<Duration> times;
  for (int i = 0; i < 4; ++i) {
    while (h.open().empty()) h.RunFor(absl::Seconds(1));
    times.push_back(DispatchTimes(h).front());
    h.RespondFirst(500);
  }
  EXPECT_EQ(times, (std::vector<Duration>{absl::ZeroDuration(), absl::Seconds(4), absl::Seconds(8),
                                          absl::Seconds(12)}));
}

TEST(MachineDispatch, AChangedRateHoldsFromThenOn) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 1, .max_burst_size = 1}).ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.RunFor(absl::Seconds(1));
  ASSERT_TRUE(h.UpdateQueue("q", {.max_dispatches_per_second = 10, .max_burst_size = 1}).ok());
  h.RunFor(absl::Seconds(9));
  EXPECT_EQ(DispatchTimes(h),
            (std::vector<Duration>{absl::ZeroDuration(), absl::Seconds(1), absl::Milliseconds(1100),
                                   absl::Milliseconds(1200)}));
}

TEST(MachineDispatch, NoMoreThanTheConcurrencyIsInFlight) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_concurrent_dispatches = 2}).ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.RunFor(absl::Minutes(1));
  EXPECT_EQ(h.open().size(), 2u);
  h.RespondFirst(200);
  h.Settle();
  EXPECT_EQ(h.open().size(), 2u);
  ASSERT_TRUE(h.UpdateQueue("q", {.max_concurrent_dispatches = 3}).ok());
  h.Settle();
  EXPECT_EQ(h.open().size(), 3u);
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->in_flight, 3);
}

TEST(MachineDispatch, TheServersCapacityIsSharedFairly) {
  constexpr int kCapacity = 9;
  MachineHarness h({.in_flight_max = kCapacity});
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(h.CreateQueue(id).ok());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(h.CreateTask(id).ok());
  }
  h.Settle();
  std::map<std::string, int> sent;
  for (const StartAttempt& attempt : h.open()) ++sent[attempt.queue.queue_id];
  EXPECT_EQ(sent, (std::map<std::string, int>{{"a", 3}, {"b", 3}, {"c", 3}}));
  EXPECT_EQ(h.machine().in_flight(), kCapacity);
  for (int i = 0; i < 30; ++i) {
    h.RespondFirst(200);
    h.Settle();
    ++sent[h.open().back().queue.queue_id];
  }
  EXPECT_EQ(sent, (std::map<std::string, int>{{"a", 13}, {"b", 13}, {"c", 13}}));
}

TEST(MachineDispatch, BodiesInFlightAreBoundedByBytes) {
  MachineHarness h({.in_flight_bytes_max = 250});
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(h.CreateTask("q", {.request = {.body = std::string(100, 'x')}}).ok());
  }
  h.Settle();
  EXPECT_EQ(h.open().size(), 3u) << "the third reaches the limit";
  h.RespondFirst(200);
  h.Settle();
  EXPECT_EQ(h.open().size(), 3u);
}

TEST(MachineDispatch, AttemptsOfADeletedQueueStillCountForTheServer) {
  MachineHarness h({.in_flight_max = 1});
  ASSERT_TRUE(h.CreateQueue("a").ok());
  ASSERT_TRUE(h.CreateQueue("b").ok());
  ASSERT_TRUE(h.CreateTask("a").ok());
  h.Settle();
  ASSERT_TRUE(h.CreateTask("b").ok());
  ASSERT_TRUE(h.DeleteQueue("a").ok());
  h.RunFor(absl::Minutes(1));
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.machine().in_flight(), 1);
  h.RespondFirst(200);
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().queue.queue_id, "b");
}

TEST(MachineDispatch, OneCallOfAdvanceDoesABoundedPartAndAsksForMore) {
  constexpr int kTasks = 2000;
  MachineHarness h({.dispatches_per_second_max = 100'000, .concurrent_dispatches_max = 100'000});
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 100'000,
                                  .max_concurrent_dispatches = 100'000})
                  .ok());
  for (int i = 0; i < kTasks; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  h.Advance();
  const std::size_t first = h.open().size();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first, 512u);
  EXPECT_EQ(h.machine().NextDeadline(), h.now());
  h.Settle();
  EXPECT_EQ(h.open().size(), std::size_t{kTasks});
}

TEST(MachineDispatch, APausedQueueSendsNothingAndTakesTasks) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.PauseQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q").ok());
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  h.Settle();
  EXPECT_EQ(h.open().size(), 1u);
}

TEST(MachineDispatch, AnAttemptOpenAtThePauseFinishesAndItsRetryWaitsForTheResume) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.min_backoff = absl::Seconds(1)}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  ASSERT_TRUE(h.PauseQueue("q").ok());
  h.RespondFirst(500);
  const Time retry = h.now() + absl::Seconds(1);
  EXPECT_EQ(h.GetTask("q", "t")->progress.schedule_time, retry);
  h.RunFor(absl::Minutes(5));
  EXPECT_TRUE(h.open().empty());
  ASSERT_TRUE(h.ResumeQueue("q").ok());
  h.Settle();
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.progress.last_attempt->schedule_time, retry);
  EXPECT_EQ(h.open().front().task.progress.last_attempt->dispatch_time, h.now());
}

TEST(MachineDispatch, DeletedTasksAreNeverSentAfterTheDelete) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (int i = 0; i < 1000; ++i) {
    const auto task = h.CreateTask("q", {.schedule_time = h.now() + absl::Milliseconds(50)});
    ASSERT_TRUE(h.DeleteTask("q", task->body->task_id).ok());
  }
  h.RunFor(absl::Minutes(1));
  EXPECT_TRUE(h.open().empty());
}

TEST(MachineDispatch, ATaskDeletedInFlightIsNotTriedAgain) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_concurrent_dispatches = 1}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  ASSERT_TRUE(h.DeleteTask("q", "t").ok());
  EXPECT_EQ(h.GetTask("q", "t").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "next"}).ok());
  h.Settle();
  EXPECT_EQ(h.open().size(), 1u) << "its request still runs and counts";
  h.RespondFirst(500);
  h.RunFor(absl::Hours(1));
  ASSERT_EQ(h.open().size(), 1u);
  EXPECT_EQ(h.open().front().task.body->task_id, "next");
  EXPECT_EQ(h.ended().size(), 1u);
}

TEST(MachineDispatch, StatsCountWhatHappened) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 10}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.CreateTask("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.schedule_time = h.now() + absl::Hours(1)}).ok());
  h.Settle();
  h.RespondFirst(200);
  h.RespondFirst(500);
  const auto stats = h.machine().Stats(TestQueue("q"), h.now());
  EXPECT_EQ(stats->task_count, 3u);
  EXPECT_EQ(stats->in_flight, 1);
  EXPECT_EQ(stats->tokens, 7);
  EXPECT_EQ(stats->executed_last_minute, 2u);
  EXPECT_EQ(stats->next_schedule_time, h.now() + absl::Milliseconds(100));
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now() + absl::Minutes(1))->executed_last_minute,
            0u);
}

}  // namespace
}  // namespace sluice::core
