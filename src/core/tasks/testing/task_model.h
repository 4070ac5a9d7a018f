// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a task service must do, written down as naively as possible: every task
// in a map, every rule as one sentence of the specification. It does not
// predict when the machine acts; it is told what happened and says what is
// wrong about it. Its arithmetic shares nothing with the machine's.
//
// Threading: one thread. Failure: the first complaint is kept in `error()`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"

namespace sluice::core::testing {

struct ModelTask {
  Sequence sequence = 0;
  std::string id;
  bool is_named = false;
  Time create_time;
  Time schedule_time;
  std::optional<RetryConfig> retry;
  std::int64_t dispatch_count = 0;
  std::int64_t response_count = 0;
  std::int64_t execution_count = 0;
  std::int32_t previous_response = 0;
  std::optional<Time> first_dispatch_time;
  int open_attempts = 0;
};

struct ModelQueue {
  Incarnation incarnation = 0;
  QueueConfig config;
  bool is_paused = false;
  std::map<Sequence, ModelTask> live;
  std::map<Sequence, ModelTask> purged;  // still to be cleaned
  std::map<std::string, Time> reserved;
  std::optional<Time> purge_time;
  int open_attempts = 0;  // of ended tasks too
  double tokens = 0;
  Time tokens_time;
  // What overloaded targets left of the pace (spec 4.7), told once more in plain words.
  double share = 1;
  Time halved_at = absl::InfinitePast();
  Time stopped_until = absl::InfinitePast();

  [[nodiscard]] double Rate() const;
  [[nodiscard]] double Burst() const { return share < 1 ? 1 : config.rate.max_burst_size; }

  [[nodiscard]] bool IsExpired(const ModelTask& task, Time now) const {
    return task.create_time + config.task_ttl <= now;
  }
  [[nodiscard]] const RetryConfig& RetryOf(const ModelTask& task) const {
    return task.retry.has_value() ? *task.retry : config.retry;
  }
};

class TaskModel {
 public:
  explicit TaskModel(const TaskLimits& limits) : limits_(limits) {}

  // --- What commands did ---
  void QueueCreated(const std::string& id, const Queue& queue, Time now);
  void QueueUpdated(const std::string& id, const Queue& queue, Time now);
  void QueueDeleted(const std::string& id);
  void QueuePaused(const std::string& id, bool is_paused);
  void QueuePurged(const std::string& id, const Queue& queue);
  /// Whether a create with this name must succeed.
  [[nodiscard]] bool IsNameFree(const std::string& id, const std::string& task_id, Time now) const;
  void TaskCreated(const std::string& id, const NewTask& request, const Task& task, Time now);
  /// The task that get, run and delete must find; null: none.
  [[nodiscard]] const ModelTask* Find(const std::string& id, const std::string& task_id,
                                      Time now) const;
  void TaskFound(const ModelTask& expected, const Task& task);

  // --- What the machine did ---
  void Ended(const TaskEnded& ended, Time now);
  void Started(const StartAttempt& attempt, bool is_forced, Time now);
  void Finished(const StartAttempt& attempt, bool is_forced, const AttemptOutcome& outcome,
                Time now);
  void Restarted(Time now);

  /// With all questions answered: nothing may be left that should have happened.
  void CheckIdle(Time now);

  [[nodiscard]] const std::map<std::string, ModelQueue>& queues() const { return queues_; }
  [[nodiscard]] std::size_t live_count() const;
  [[nodiscard]] const std::string& error() const { return error_; }
  /// This task must end now, in this way. Finished expects ends by itself.
  void ExpectEnd(Sequence sequence, TaskEnd end) { expected_ends_[sequence] = end; }
  /// After the events of one call were told.
  void CheckNothingExpected();
  /// A complaint of the test's own.
  void Fail(std::string text) { Complain(std::move(text)); }

 private:
  ModelQueue* Find(Incarnation queue);
  void Complain(std::string text);
  void AdaptPace(ModelQueue& queue, const AttemptOutcome& outcome, Time now);
  void Refill(ModelQueue& queue, Time now);
  static bool IsExhausted(const RetryConfig& retry, const ModelTask& task, Time now);

  TaskLimits limits_;
  std::map<std::string, ModelQueue> queues_;
  int open_attempts_ = 0;                  // of the whole server
  std::map<Sequence, Incarnation> homes_;  // of every task there ever was
  std::map<Sequence, TaskEnd> ended_;
  std::map<Sequence, TaskEnd> expected_ends_;
  std::string error_;
};

}  // namespace sluice::core::testing
