// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tasks/testing/machine_harness.h"

// Tasks that used up their attempts: kept, looked at, sent again, dropped.

namespace sluice::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MachineHarness;
using ::testing::SizeIs;
using testing::TestQueue;

class DeadLetters : public ::testing::Test {
 protected:
  static TaskLimits Limits() {
    TaskLimits limits;
    limits.dead_letters_max = 3;
    limits.dead_letter_bytes_max = 5'000;
    limits.dead_letter_ttl = absl::Hours(10);
    return limits;
  }

  void SetUp() override {
    ASSERT_TRUE(h.CreateQueue("q", {.max_attempts = 2,
                                    .min_backoff = absl::Seconds(1),
                                    .max_backoff = absl::Seconds(1)})
                    .ok());
  }

  // Creates a task and fails it with these answers until it has given up.
  void Kill(const std::string& id, std::vector<int> answers = {500, 503},
            std::size_t body_bytes = 10) {
    NewTask task;
    task.task_id = id;
    task.request.url = "http://t/";
    task.request.body = std::string(body_bytes, 'b');
    ASSERT_TRUE(h.CreateTask("q", std::move(task)).ok());
    h.Settle();
    Fail(answers);
  }
  void Fail(const std::vector<int>& answers = {500, 503}) {
    for (const int answer : answers) {
      while (h.open().empty()) h.RunUntil(h.machine().NextDeadline());
      h.RunFor(absl::Milliseconds(30));  // the latency of the target
      h.RespondFirst(answer);
    }
  }

  DeadLetterStep List(const DeadLetterSelection& selection = {.count_max = 100}) {
    return *h.ListDeadLetters("q", selection);
  }
  std::vector<std::string> Ids(const DeadLetterSelection& selection = {.count_max = 100}) {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : List(selection).letters) {
      ids.push_back(letter.task.body->task_id);
    }
    return ids;
  }

  MachineHarness h{Limits()};
};

TEST_F(DeadLetters, AnExhaustedTaskIsKeptWithEachOfItsAttempts) {
  Kill("t");
  EXPECT_TRUE(absl::IsNotFound(h.GetTask("q", "t").status()));  // acceptance 98
  const DeadLetterStep step = List();
  ASSERT_THAT(step.letters, SizeIs(1));
  const DeadLetter& letter = step.letters[0];
  EXPECT_EQ(letter.end_time, h.now());
  EXPECT_EQ(letter.task.body->request.url, "http://t/");
  EXPECT_EQ(letter.task.progress.dispatch_count, 2);
  ASSERT_THAT(letter.task.progress.past, SizeIs(2));
  EXPECT_EQ(letter.task.progress.past[0].http_status, 500);
  EXPECT_EQ(letter.task.progress.past[1].http_status, 503);
  EXPECT_EQ(letter.task.progress.past[1].code, 14);
  EXPECT_EQ(letter.task.progress.past[1].end_time - letter.task.progress.past[1].dispatch_time,
            absl::Milliseconds(30));
  EXPECT_FALSE(step.next);
}

TEST_F(DeadLetters, OnlyExhaustedTasksAreKept) {
  Kill("gone", {200});
  NewTask task;
  task.task_id = "deleted";
  ASSERT_TRUE(h.CreateTask("q", std::move(task)).ok());
  ASSERT_TRUE(h.DeleteTask("q", "deleted").ok());
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(h.machine().dead_letter_totals().kept, 0);
}

TEST_F(DeadLetters, AttemptsBeyondTheMaximumAreForgottenFromTheFront) {
  ASSERT_TRUE(h.UpdateQueue("q", {.max_attempts = 103}).ok());
  std::vector<int> answers(102, 500);
  answers.push_back(418);
  Kill("t", answers);
  const TaskProgress progress = List().letters.at(0).task.progress;
  EXPECT_EQ(progress.dispatch_count, 103);
  ASSERT_THAT(progress.past, SizeIs(kPastAttemptsMax));
  EXPECT_EQ(progress.past.back().http_status, 418);
}

TEST_F(DeadLetters, TheOldestGoesWhenTheQueueHasItsNumber) {
  for (const char* id : {"a", "b", "c", "d"}) Kill(id);
  EXPECT_THAT(Ids(), ElementsAre("b", "c", "d"));
  EXPECT_EQ(h.machine().dead_letter_totals().evicted, 1);
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->dead_letter_count, 3);
}

TEST_F(DeadLetters, TheOldestGoWhenTheQueueHasItsBytes) {
  Kill("a");
  Kill("b", {500, 500}, 2'000);
  Kill("c", {500, 500}, 4'000);
  EXPECT_THAT(Ids(), ElementsAre("c"));
  Kill("larger-than-all", {500, 500}, 5'001);
  EXPECT_THAT(Ids(), ElementsAre("c"));
  EXPECT_EQ(h.machine().dead_letter_totals().evicted, 3);
}

TEST_F(DeadLetters, TheirTimeEnds) {
  Kill("a");
  h.RunFor(absl::Hours(4));
  Kill("b");
  h.RunFor(absl::Hours(6) - absl::Seconds(2));
  EXPECT_THAT(Ids(), ElementsAre("a", "b"));
  h.RunFor(absl::Seconds(2));
  EXPECT_THAT(Ids(), ElementsAre("b"));
  h.Restart();
  h.RunFor(absl::Hours(4));
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(h.machine().dead_letter_totals().expired, 1);  // since the restart
}

TEST_F(DeadLetters, PagesAndFiltersFollowTheOrderOfTheEnds) {
  Kill("a", {500, 404});
  const Time after_a = h.now() + absl::Microseconds(1);
  Kill("b", {404, 500});
  Kill("c", {500, 404});
  EXPECT_THAT(Ids({.last_status = 404, .count_max = 9}), ElementsAre("a", "c"));
  EXPECT_THAT(Ids({.ended_from = after_a, .count_max = 9}), ElementsAre("b", "c"));
  EXPECT_THAT(Ids({.ended_before = after_a, .count_max = 9}), ElementsAre("a"));

  const DeadLetterStep first = List({.count_max = 2});
  ASSERT_TRUE(first.next);
  EXPECT_THAT(Ids({.after = first.next, .count_max = 2}), ElementsAre("c"));
  const Sequence b = first.letters.at(1).task.body->sequence;
  const DeadLetterStep chosen = List({.sequences = {b, 9'999}});
  EXPECT_THAT(chosen.letters, SizeIs(1));
  EXPECT_THAT(chosen.not_found, ElementsAre(9'999));
}

TEST_F(DeadLetters, SentAgainATaskKeepsItsNameAndStartsAnew) {
  Kill("t");
  const DeadLetterStep step = *h.RedriveDeadLetters("q", {.count_max = 10});
  ASSERT_THAT(step.sent, SizeIs(1));
  EXPECT_EQ(step.sent[0].new_id, "t");
  EXPECT_THAT(Ids(), IsEmpty());
  const StatusOr<Task> task = h.GetTask("q", "t");
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->progress.dispatch_count, 0);
  EXPECT_EQ(task->body->create_time, h.now());
  EXPECT_EQ(task->body->request.url, "http://t/");
  h.Settle();
  h.RespondFirst(200);
  EXPECT_TRUE(absl::IsNotFound(h.GetTask("q", "t").status()));
  EXPECT_EQ(h.machine().dead_letter_totals().redriven, 1);
}

TEST_F(DeadLetters, AGeneratedIdIsReplaced) {
  Kill("");
  const DeadLetterStep step = *h.RedriveDeadLetters("q", {.count_max = 10});
  ASSERT_THAT(step.sent, SizeIs(1));
  EXPECT_NE(step.sent[0].new_id, step.sent[0].old_id);
  EXPECT_TRUE(h.GetTask("q", step.sent[0].new_id).ok());
  EXPECT_TRUE(absl::IsNotFound(h.GetTask("q", step.sent[0].old_id).status()));
}

TEST_F(DeadLetters, ANameThatALiveTaskHasIsNotTaken) {
  ASSERT_TRUE(h.UpdateQueue("q", {.tombstone_ttl = absl::Hours(1)}).ok());
  Kill("t");
  h.RunFor(absl::Hours(2));
  Kill("t");  // the same name died twice
  h.RunFor(absl::Hours(2));
  const DeadLetterStep both = *h.RedriveDeadLetters("q", {.count_max = 10});
  EXPECT_THAT(both.sent, SizeIs(1));
  EXPECT_THAT(both.taken, SizeIs(1));  // the second one of the step
  EXPECT_THAT(h.RedriveDeadLetters("q", {.count_max = 10})->taken, SizeIs(1));
  EXPECT_THAT(Ids(), ElementsAre("t"));
}

TEST_F(DeadLetters, StepsLeaveOffWhereTheyStopped) {
  for (const char* id : {"a", "b", "c"}) Kill(id);
  const DeadLetterStep first = *h.RedriveDeadLetters("q", {.count_max = 2});
  EXPECT_THAT(first.sent, SizeIs(2));
  ASSERT_TRUE(first.next);
  const DeadLetterStep rest = *h.DeleteDeadLetters("q", {.after = first.next, .count_max = 2});
  EXPECT_THAT(rest.deleted, SizeIs(1));
  EXPECT_FALSE(rest.next);
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(h.machine().dead_letter_totals().deleted, 1);
}

TEST_F(DeadLetters, ColdLettersAndNamesAreReadFirst) {
  for (const char* id : {"a", "b", ""}) Kill(id);
  h.ledger().MakeReadsCold();
  h.ledger().Cool();
  EXPECT_THAT(h.RedriveDeadLetters("q", {.count_max = 10})->sent, SizeIs(3));
  EXPECT_GT(h.cold_commands(), 0);
  EXPECT_TRUE(h.GetTask("q", "a").ok());
}

TEST_F(DeadLetters, ACrashLosesNoneAndADeletedQueueTakesItsOwn) {
  Kill("a");
  h.Restart();
  EXPECT_THAT(Ids(), ElementsAre("a"));
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->dead_letter_count, 1);
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  EXPECT_TRUE(absl::IsNotFound(h.ListDeadLetters("q", {}).status()));
  ASSERT_TRUE(h.CreateQueue("q").ok());
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(DeadLetters, APurgeOfTasksLeavesThem) {
  Kill("a");
  ASSERT_TRUE(h.PurgeQueue("q").ok());
  h.Settle();
  EXPECT_THAT(Ids(), ElementsAre("a"));
}

TEST(DeadLettersOff, NothingIsKeptAndNoAttemptIsRemembered) {
  TaskLimits limits;
  limits.dead_letters_max = 0;
  MachineHarness h{limits};
  ASSERT_TRUE(h.CreateQueue("q", {.max_attempts = 2}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  h.RespondFirst(500);
  EXPECT_THAT(h.GetTask("q", "t")->progress.past, IsEmpty());
  while (h.open().empty()) h.RunUntil(h.machine().NextDeadline());
  h.RespondFirst(500);
  EXPECT_THAT(h.ListDeadLetters("q", {.count_max = 9})->letters, IsEmpty());
}

}  // namespace
}  // namespace sluice::core
