// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/tasks/testing/machine_harness.h"
#include "core/tasks/testing/task_model.h"

// Random commands, outcomes, time, cold reads, late and mixed answers and
// crashes, all from one seed, against a model that holds every task and knows
// every rule. A failure prints how to run its seed again.
//
//   SLUICE_SOAK_SEEDS=N   run N seeds instead of the default
//   SLUICE_SEED=S         run this seed only

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::ModelQueue;
using testing::ModelTask;
using testing::PendingLoad;
using testing::TaskModel;
using testing::TestQueue;

constexpr std::uint64_t kSeedsDefault = 1000;
constexpr int kSteps = 250;
constexpr int kDrainRoundsMax = 20'000;
const std::vector<std::string> kQueueIds = {"a", "b", "c"};
// Few names, so that they collide.
constexpr int kTaskNames = 6;

std::uint64_t current_seed = 0;

void PrintSeed(int) {
  // Called on abort, when a check inside the machine or the ledger fails.
  std::fprintf(stderr, "failing seed: SLUICE_SEED=%llu core_machine_model_test\n",
               static_cast<unsigned long long>(current_seed));
  std::signal(SIGABRT, SIG_DFL);
}

/// What the histories reached, so that a test that no longer gets anywhere fails.
struct Coverage {
  std::map<TaskEnd, int> ends;
  int forced_attempts = 0;
  int attempts = 0;
  int retries = 0;
  int window_loads = 0;
  int task_loads = 0;
  int crashes = 0;
  std::size_t cold_commands = 0;
};
Coverage coverage;

TaskLimits RandomLimits(std::mt19937_64& random) {
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<>(low, high)(random);
  };
  TaskLimits limits;
  limits.window_rows_max = static_cast<std::size_t>(pick(1, 8));
  limits.window_rows_low = static_cast<std::size_t>(pick(0, 4));
  limits.prefetch_rows_max = static_cast<std::size_t>(pick(1, 4));
  limits.purge_rows_max = static_cast<std::size_t>(pick(1, 4));
  limits.in_flight_max = pick(1, 12);
  return limits;
}

class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed), limits_(RandomLimits(random_)), h_(limits_), model_(limits_) {
    if (Chance(50)) h_.ledger().MakeReadsCold();
    is_slow_ = Chance(30);
  }

  /// Empty when nothing is wrong.
  std::string Execute() {
    for (int step = 0; step < kSteps && model_.error().empty(); ++step) {
      Step();
      Observe();
      if (!model_.error().empty()) return fmt::format("step {}: {}", step, model_.error());
    }
    Drain();
    coverage.cold_commands += h_.cold_commands();
    return model_.error();
  }

 private:
  int Pick(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
  bool Chance(int percent) { return Pick(100) < percent; }
  std::string RandomQueue() { return kQueueIds[static_cast<std::size_t>(Pick(3))]; }
  std::string RandomName() { return fmt::format("name{}", Pick(kTaskNames)); }
  bool Exists(const std::string& queue) { return model_.queues().contains(queue); }

  void Wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }

  void Step() {
    const int dice = Pick(100);
    if (dice < 25) return CreateTask();
    if (dice < 45) return FinishAttempt();
    if (dice < 60) return PassTime();
    if (dice < 75) return AnswerSome();
    if (dice < 80) return TouchTask();
    if (dice < 84) return RunTask();
    if (dice < 88) return DeleteTask();
    if (dice < 97) return ChangeQueue();
    if (dice < 98) return h_.ledger().Cool();
    Crash();
  }

  // --- Commands ---

  QueuePatch RandomSettings() {
    QueuePatch patch;
    if (Chance(60)) patch.max_dispatches_per_second = std::vector{0.25, 2.0, 7.0, 500.0}[Index(4)];
    if (Chance(40)) patch.max_burst_size = 1 + Pick(12);
    if (Chance(60)) patch.max_concurrent_dispatches = 1 + Pick(4);
    if (Chance(50)) patch.max_attempts = std::vector{-1, 1, 2, 5}[Index(4)];
    if (Chance(30)) patch.max_retry_duration = absl::Seconds(Pick(3) * 20);
    if (Chance(50)) patch.min_backoff = absl::Milliseconds(Pick(4) * 300);
    if (Chance(30)) patch.max_backoff = absl::Seconds(1 + Pick(100));
    if (Chance(30)) patch.max_doublings = Pick(5);
    if (Chance(30)) patch.task_ttl = absl::Hours(24 * (10 + Pick(3)));
    if (Chance(30)) patch.tombstone_ttl = absl::Hours(1 + Pick(3));
    return patch;
  }
  std::size_t Index(int n) { return static_cast<std::size_t>(Pick(n)); }

  void ChangeQueue() {
    const std::string id = RandomQueue();
    if (!Exists(id)) {
      const auto created = h_.CreateQueue(id, RandomSettings());
      if (created.ok()) {
        model_.QueueCreated(id, *created, h_.now());
      } else if (created.status().code() != absl::StatusCode::kInvalidArgument) {
        Wrong("create queue: " + std::string(Message(created.status())));
      }
      return;
    }
    switch (Pick(12)) {
      case 0:
        model_.QueueDeleted(id);
        if (!h_.DeleteQueue(id).ok()) Wrong("delete queue");
        return;
      case 1:
      case 2: {
        const auto purged = h_.PurgeQueue(id);
        if (!purged.ok()) return Wrong("purge");
        return model_.QueuePurged(id, *purged);
      }
      case 3:
      case 4:
        if (!h_.PauseQueue(id).ok()) Wrong("pause");
        return model_.QueuePaused(id, true);
      case 5:
      case 6:
      case 7:
        if (!h_.ResumeQueue(id).ok()) Wrong("resume");
        return model_.QueuePaused(id, false);
      default: {
        const auto updated = h_.UpdateQueue(id, RandomSettings());
        if (updated.ok()) model_.QueueUpdated(id, *updated, h_.now());
        return;
      }
    }
  }

  void CreateTask() {
    const std::string id = RandomQueue();
    NewTask task;
    if (Chance(50)) task.task_id = RandomName();
    switch (Pick(4)) {
      case 0:
        break;
      case 1:
        task.schedule_time = h_.now() + absl::Milliseconds(Pick(5000));
        break;
      case 2:
        task.schedule_time = h_.now() + absl::Seconds(Pick(4));  // equal times
        break;
      default:
        task.schedule_time = h_.now() + absl::Minutes(Pick(2000)) - absl::Minutes(10);
        break;
    }
    if (Chance(15)) task.retry = RetryConfig{.max_attempts = 1 + Pick(3)};
    if (!Exists(id)) {
      if (h_.CreateTask(id, task).ok()) Wrong("created a task in no queue");
      return;
    }
    const bool is_free = task.task_id.empty() || model_.IsNameFree(id, task.task_id, h_.now());
    const auto created = h_.CreateTask(id, task);
    if (created.ok() != is_free) {
      return Wrong(fmt::format("create {}: {}", task.task_id,
                               created.ok() ? "OK" : Message(created.status())));
    }
    if (created.ok()) model_.TaskCreated(id, task, *created, h_.now());
  }

  /// Of a task that lives or did.
  std::string SomeTask(const std::string& queue) {
    const auto& live = model_.queues().at(queue).live;
    if (live.empty() || Chance(20)) return RandomName();
    auto it = live.begin();
    std::advance(it, Pick(static_cast<int>(live.size())));
    return it->second.id;
  }

  void TouchTask() {
    const std::string queue = RandomQueue();
    if (!Exists(queue)) return;
    const std::string id = SomeTask(queue);
    const ModelTask* expected = model_.Find(queue, id, h_.now());
    const auto found = h_.GetTask(queue, id);
    if (found.ok() != (expected != nullptr)) return Wrong("get " + id);
    if (found.ok()) model_.TaskFound(*expected, *found);
    const auto explained = h_.ExplainTask(queue, id);
    if (explained.ok() != found.ok()) return Wrong("explain " + id);
    if (explained.ok()) {
      const auto& waits = explained->waits;
      const bool says_flying = !waits.empty() && waits[0].reason == Wait::Reason::kInFlight;
      if (says_flying != (expected->open_attempts > 0)) Wrong("explain in flight " + id);
    }
  }

  void RunTask() {
    const std::string queue = RandomQueue();
    if (!Exists(queue)) return;
    const std::string id = SomeTask(queue);
    const bool is_there = model_.Find(queue, id, h_.now()) != nullptr;
    const auto running = h_.RunTask(queue, id);
    if (running.ok() != is_there) return Wrong("run " + id);
    if (running.ok()) forced_.insert_or_assign(h_.open().back().id, true);
  }

  void DeleteTask() {
    const std::string queue = RandomQueue();
    if (!Exists(queue)) return;
    const std::string id = SomeTask(queue);
    const ModelTask* expected = model_.Find(queue, id, h_.now());
    if (expected != nullptr) model_.ExpectEnd(expected->sequence, TaskEnd::kDeleted);
    if (h_.DeleteTask(queue, id).ok() != (expected != nullptr)) Wrong("delete " + id);
  }

  // --- The world ---

  void FinishAttempt() {
    if (h_.open().empty()) return;
    const StartAttempt attempt = h_.open()[Index(static_cast<int>(h_.open().size()))];
    AttemptOutcome outcome;
    switch (Pick(8)) {
      case 0:
        outcome.kind = AttemptOutcome::Kind::kTimedOut;
        break;
      case 1:
        outcome.kind = AttemptOutcome::Kind::kConnectionFailed;
        break;
      case 2:
      case 3:
        outcome.http_status = 200;
        break;
      default:
        outcome.http_status = std::vector{302, 404, 429, 500, 503}[Index(5)];
        if (Pick(4) == 0) outcome.retry_after = absl::Seconds(Index(20));
        break;
    }
    Finish(attempt, outcome);
  }

  void Finish(const StartAttempt& attempt, const AttemptOutcome& outcome) {
    model_.Finished(attempt, forced_.contains(attempt.id), outcome, h_.now());
    forced_.erase(attempt.id);
    h_.Finish(attempt.id, outcome);
  }

  void PassTime() {
    Time to = h_.now();
    switch (Pick(10)) {
      case 0:
        to += absl::Hours(Pick(3));
        break;
      case 1:
        if (is_slow_ || Chance(20)) to += absl::Hours(24 * Pick(6));
        break;
      case 2:
      case 3:
        // Exactly when something is due.
        if (h_.machine().NextDeadline() < h_.now() + absl::Hours(24)) {
          to = h_.machine().NextDeadline();
        }
        break;
      default:
        to += absl::Microseconds(Pick(3'000'000));
        break;
    }
    h_.SkipTo(std::max(to, h_.now()));
  }

  void AnswerSome() {
    switch (Pick(5)) {
      case 0:
      case 1:
        return h_.Advance();
      case 2:
        // What is read now may be delivered much later.
        for (PendingLoad& load : h_.pending()) {
          if (Chance(50)) h_.Read(load);
        }
        return;
      case 3:
        if (h_.pending().empty()) return;
        return DeliverOne();
      default:
        return Settle();
    }
  }

  void DeliverOne() {
    const std::size_t index = Index(static_cast<int>(h_.pending().size()));
    const auto& request = h_.pending()[index].request;
    coverage.window_loads += std::holds_alternative<LoadWindow>(request);
    coverage.task_loads += std::holds_alternative<LoadTasks>(request);
    if (Chance(50)) h_.ReadMixed(h_.pending()[index], [this] { return Chance(50); });
    h_.Deliver(index);
  }

  /// Until nothing is left to do, looking at every single step.
  void Settle() {
    do {
      while (!h_.pending().empty()) {
        DeliverOne();
        Observe();
      }
      h_.Advance();
      Observe();
    } while (!h_.pending().empty() || h_.machine().NextDeadline() <= h_.now());
    model_.CheckIdle(h_.now());
  }

  void Crash() {
    ++coverage.crashes;
    h_.Restart();
    model_.Restarted(h_.now());
    forced_.clear();
    last_seen_ = 0;
  }

  /// Tells the model what the machine did, and compares what both count.
  void Observe() {
    for (const TaskEnded& ended : h_.ended()) {
      ++coverage.ends[ended.end];
      model_.Ended(ended, h_.now());
    }
    h_.ended().clear();
    model_.CheckNothingExpected();
    for (const StartAttempt& attempt : h_.open()) {
      if (attempt.id <= last_seen_) continue;
      last_seen_ = attempt.id;
      ++coverage.attempts;
      coverage.forced_attempts += forced_.contains(attempt.id);
      coverage.retries += attempt.task.progress.dispatch_count > 1;
      model_.Started(attempt, forced_.contains(attempt.id), h_.now());
    }
    for (const auto& [id, queue] : model_.queues()) {
      const auto stats = h_.machine().Stats(TestQueue(id), h_.now());
      if (!stats.ok()) return Wrong("a queue is missing");
      if (stats->task_count != queue.live.size()) {
        Wrong(fmt::format("queue {}: task_count {} for {} tasks", id, stats->task_count,
                          queue.live.size()));
      }
      if (stats->in_flight != queue.open_attempts) Wrong("in_flight of queue " + id);
    }
    if (h_.machine().QueueNames().size() != model_.queues().size()) Wrong("too many queues");
    if (!wrong_.empty()) model_.Fail(wrong_);
  }

  /// Faults stop: everything accepted must come to its end.
  void Drain() {
    for (const std::string& id : kQueueIds) {
      if (!Exists(id)) continue;
      model_.QueuePaused(id, false);
      if (!h_.ResumeQueue(id).ok()) Wrong("resume");
    }
    for (int round = 0; model_.live_count() > 0 && model_.error().empty(); ++round) {
      if (round == kDrainRoundsMax) return model_.Fail("does not come to an end");
      Settle();
      if (!h_.open().empty()) {
        Finish(StartAttempt(h_.open().front()), {.http_status = 200});
        Observe();
      } else if (model_.live_count() > 0) {
        const Time next = h_.machine().NextDeadline();
        if (next == absl::InfiniteFuture()) return model_.Fail("waits for nothing");
        h_.SkipTo(std::max(next, h_.now()));
      }
    }
  }

  std::mt19937_64 random_;
  TaskLimits limits_;
  MachineHarness h_;
  TaskModel model_;
  std::map<AttemptId, bool> forced_;
  AttemptId last_seen_ = 0;
  std::string wrong_;
  bool is_slow_ = false;  // days pass, tasks expire
};

std::uint64_t EnvironmentNumber(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

TEST(MachineModel, RandomHistoriesAgreeWithTheModel) {
  const std::uint64_t only = EnvironmentNumber("SLUICE_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t count = only != 0 ? 1 : EnvironmentNumber("SLUICE_SOAK_SEEDS", kSeedsDefault);
  std::signal(SIGABRT, PrintSeed);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    current_seed = seed;
    const std::string error = History(seed).Execute();
    ASSERT_EQ(error, "") << "run again with SLUICE_SEED=" << seed << " core_machine_model_test";
  }
  std::signal(SIGABRT, SIG_DFL);
  if (count < kSeedsDefault) return;
  // About a third of what the default seeds reached when this was written.
  EXPECT_GT(coverage.ends[TaskEnd::kDone], 5000);
  EXPECT_GT(coverage.ends[TaskEnd::kDeleted], 2000);
  EXPECT_GT(coverage.ends[TaskEnd::kPurged], 3000);
  EXPECT_GT(coverage.ends[TaskEnd::kExpired], 70);
  EXPECT_GT(coverage.ends[TaskEnd::kExhausted], 900);
  EXPECT_GT(coverage.ends[TaskEnd::kQueueDeleted], 400);
  EXPECT_GT(coverage.attempts, 10'000);
  EXPECT_GT(coverage.forced_attempts, 1500);
  EXPECT_GT(coverage.retries, 2500);
  EXPECT_GT(coverage.window_loads, 4000);
  EXPECT_GT(coverage.task_loads, 1500);
  EXPECT_GT(coverage.crashes, 1500);
  EXPECT_GT(coverage.cold_commands, 6000u);
}

}  // namespace
}  // namespace sluice::core
