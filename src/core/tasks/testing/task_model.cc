// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/testing/task_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"

namespace sluice::core::testing {

namespace {

// What rounding to whole microseconds and doubles may differ by.
constexpr double kTokenSlack = 1e-6;

std::string Name(const ModelTask& task) {
  return fmt::format("task {} ({})", task.id, task.sequence);
}

/// Spec 2.3, in seconds and floating point.
double IntervalSeconds(const RetryConfig& retry, std::int64_t failures) {
  const double min = absl::ToDoubleSeconds(retry.min_backoff);
  const double max = absl::ToDoubleSeconds(retry.max_backoff);
  const auto n = static_cast<double>(failures);
  const double doublings = retry.max_doublings;
  const double interval = n - 1 <= doublings ? min * std::pow(2, n - 1)
                                             : min * std::pow(2, doublings) * (n - doublings);
  return std::min(max, interval);
}

}  // namespace

void TaskModel::Complain(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

ModelQueue* TaskModel::Find(Incarnation incarnation) {
  for (auto& [id, queue] : queues_) {
    if (queue.incarnation == incarnation) return &queue;
  }
  return nullptr;
}

std::size_t TaskModel::live_count() const {
  std::size_t count = 0;
  for (const auto& [id, queue] : queues_) count += queue.live.size();
  return count;
}

double ModelQueue::Rate() const {
  const double configured = config.rate.max_dispatches_per_second;
  return std::max(configured * share, std::min(configured, 0.1));
}

void TaskModel::AdaptPace(ModelQueue& queue, const AttemptOutcome& outcome, Time now) {
  Refill(queue, now);
  if (outcome.kind != AttemptOutcome::Kind::kResponse) return;
  if (outcome.http_status / 100 == 2) queue.share = std::min(1.0, queue.share + 0.05);
  if (outcome.http_status == 429 || outcome.http_status == 503) {
    queue.stopped_until = std::max(queue.stopped_until, now + outcome.retry_after);
    if (now >= queue.halved_at + absl::Seconds(1)) {
      const double configured = queue.config.rate.max_dispatches_per_second;
      const double rate = std::max(queue.Rate() / 2, std::min(configured, 0.1));
      queue.share = std::min(1.0, rate / configured);
      queue.halved_at = now;
    }
  }
  queue.tokens = std::min<double>(queue.tokens, queue.Burst());
}

void TaskModel::Refill(ModelQueue& queue, Time now) {
  queue.tokens += absl::ToDoubleSeconds(now - queue.tokens_time) * queue.Rate();
  queue.tokens = std::min<double>(queue.tokens, queue.Burst());
  queue.tokens_time = now;
}

bool TaskModel::IsExhausted(const RetryConfig& retry, const ModelTask& task, Time now) {
  if (task.dispatch_count == 0) return false;
  const bool has_attempts = retry.max_attempts != -1;
  const bool has_duration = retry.max_retry_duration != absl::ZeroDuration();
  if (!has_attempts && !has_duration) return false;
  return (!has_attempts || task.dispatch_count >= retry.max_attempts) &&
         (!has_duration || now - *task.first_dispatch_time >= retry.max_retry_duration);
}

void TaskModel::QueueCreated(const std::string& id, const Queue& queue, Time now) {
  ModelQueue& created = queues_[id];
  created = ModelQueue{.incarnation = queue.incarnation, .config = queue.config};
  created.tokens = queue.config.rate.max_burst_size;
  created.tokens_time = now;
}

void TaskModel::QueueUpdated(const std::string& id, const Queue& queue, Time now) {
  ModelQueue& updated = queues_.at(id);
  Refill(updated, now);
  updated.config = queue.config;
  Refill(updated, now);
}

void TaskModel::QueueDeleted(const std::string& id) {
  const ModelQueue& queue = queues_.at(id);
  if (!queue.live.empty()) ExpectEnd(0, TaskEnd::kQueueDeleted);
  queues_.erase(id);
}

void TaskModel::QueuePaused(const std::string& id, bool is_paused) {
  queues_.at(id).is_paused = is_paused;
}

void TaskModel::QueuePurged(const std::string& id, const Queue& queue) {
  ModelQueue& purged = queues_.at(id);
  purged.purge_time = queue.purge_time;
  purged.purged.merge(purged.live);
  purged.live.clear();
}

bool TaskModel::IsNameFree(const std::string& id, const std::string& task_id, Time now) const {
  const ModelQueue& queue = queues_.at(id);
  for (const auto* tasks : {&queue.live, &queue.purged}) {
    for (const auto& [sequence, task] : *tasks) {
      if (task.id == task_id) return false;
    }
  }
  const auto it = queue.reserved.find(task_id);
  return it == queue.reserved.end() || it->second <= now;
}

void TaskModel::TaskCreated(const std::string& id, const NewTask& request, const Task& task,
                            Time now) {
  ModelQueue& queue = queues_.at(id);
  const Sequence sequence = task.body->sequence;
  for (const auto& [other_id, other] : queues_) {
    if (!other.live.empty() && other.live.rbegin()->first >= sequence) {
      Complain("sequences do not grow");
    }
  }
  for (const auto& [other_sequence, other] : queue.live) {
    if (other.id == task.body->task_id) Complain("two live tasks of one name: " + other.id);
  }
  homes_[sequence] = queue.incarnation;
  ModelTask& created = queue.live[sequence];
  created.sequence = sequence;
  created.id = task.body->task_id;
  created.is_named = !request.task_id.empty();
  created.create_time = now;
  created.schedule_time = std::max(now, request.schedule_time.value_or(now));
  created.retry = request.retry;
  queue.reserved.erase(created.id);
  TaskFound(created, task);
}

const ModelTask* TaskModel::Find(const std::string& id, const std::string& task_id,
                                 Time now) const {
  const ModelQueue& queue = queues_.at(id);
  for (const auto& [sequence, task] : queue.live) {
    if (task.id == task_id) return queue.IsExpired(task, now) ? nullptr : &task;
  }
  return nullptr;
}

void TaskModel::TaskFound(const ModelTask& expected, const Task& task) {
  const TaskProgress& progress = task.progress;
  if (task.body->sequence != expected.sequence || task.body->task_id != expected.id) {
    Complain(fmt::format("{}: another task was found", Name(expected)));
  }
  if (progress.schedule_time != expected.schedule_time) {
    Complain(fmt::format("{}: scheduled for {}, expected {}", Name(expected),
                         ToMicros(progress.schedule_time), ToMicros(expected.schedule_time)));
  }
  if (progress.dispatch_count != expected.dispatch_count ||
      progress.response_count != expected.response_count ||
      progress.execution_count != expected.execution_count ||
      progress.previous_response != expected.previous_response) {
    Complain(fmt::format("{}: its counters are wrong", Name(expected)));
  }
  if (progress.first_dispatch_time != expected.first_dispatch_time) {
    Complain(fmt::format("{}: its first dispatch is wrong", Name(expected)));
  }
}

void TaskModel::Ended(const TaskEnded& ended, Time now) {
  const auto expected = expected_ends_.find(ended.sequence);
  const bool is_expected = expected != expected_ends_.end();
  if (is_expected && expected->second != ended.end) {
    Complain(fmt::format("task {} ended in the wrong way", ended.sequence));
  }
  if (is_expected) expected_ends_.erase(expected);
  if (ended.sequence == 0) {
    if (!is_expected) Complain("a queue ended that nobody deleted");
    return;
  }
  if (!ended_.emplace(ended.sequence, ended.end).second) {
    Complain(fmt::format("task {} ended twice", ended.sequence));
    return;
  }
  ModelQueue* queue = Find(ended.queue);
  if (queue == nullptr) {
    Complain(fmt::format("task {} ended in a queue that is gone", ended.sequence));
    return;
  }
  auto& tasks = ended.end == TaskEnd::kPurged ? queue->purged : queue->live;
  const auto it = tasks.find(ended.sequence);
  if (it == tasks.end()) {
    Complain(fmt::format("task {} ended and does not live", ended.sequence));
    return;
  }
  const ModelTask& task = it->second;
  Time reserved_from = now;
  switch (ended.end) {
    case TaskEnd::kExpired:
      if (!queue->IsExpired(task, now)) Complain(Name(task) + " expired too early");
      break;
    case TaskEnd::kExhausted:
      if (!is_expected && (task.open_attempts > 0 || task.schedule_time > now)) {
        Complain(Name(task) + " was given up while it waits");
      }
      if (!IsExhausted(queue->RetryOf(task), task, now)) {
        Complain(Name(task) + " was given up too early");
      }
      break;
    case TaskEnd::kPurged:
      reserved_from = *queue->purge_time;
      break;
    case TaskEnd::kDone:
    case TaskEnd::kDeleted:
      if (!is_expected) Complain(Name(task) + " ended without a reason");
      break;
    case TaskEnd::kQueueDeleted:
      Complain("a single task ended with its queue");
      break;
  }
  if (task.is_named) queue->reserved[task.id] = reserved_from + queue->config.tombstone_ttl;
  tasks.erase(it);
}

void TaskModel::CheckNothingExpected() {
  if (!expected_ends_.empty()) {
    Complain(fmt::format("task {} did not end", expected_ends_.begin()->first));
  }
  expected_ends_.clear();
}

void TaskModel::Started(const StartAttempt& attempt, bool is_forced, Time now) {
  const Task& sent = attempt.task;
  const auto found = queues_.find(attempt.queue.queue_id);
  if (found == queues_.end() || !found->second.live.contains(sent.body->sequence)) {
    Complain(fmt::format("task {} was sent and does not live", sent.body->sequence));
    return;
  }
  ModelQueue& queue = found->second;
  ModelTask& task = queue.live.at(sent.body->sequence);
  Refill(queue, now);
  if (queue.IsExpired(task, now)) Complain(Name(task) + " was sent after it expired");
  if (is_forced) {
    task.schedule_time = now;
  } else {
    if (queue.is_paused) Complain(Name(task) + " was sent from a paused queue");
    if (task.open_attempts > 0) Complain(Name(task) + " was sent twice at a time");
    if (task.schedule_time > now) Complain(Name(task) + " was sent too early");
    if (IsExhausted(queue.RetryOf(task), task, now)) {
      Complain(Name(task) + " was sent after its last attempt");
    }
    if (queue.tokens < 1 - kTokenSlack) Complain(Name(task) + " was sent without a token");
    if (queue.stopped_until > now) Complain(Name(task) + " was sent to a target that said later");
    queue.tokens -= 1;
    if (queue.open_attempts >= queue.config.rate.max_concurrent_dispatches) {
      Complain(Name(task) + " was sent beyond the queue's concurrency");
    }
    if (open_attempts_ >= limits_.in_flight_max) {
      Complain(Name(task) + " was sent beyond the server's capacity");
    }
    for (const auto& [sequence, other] : queue.live) {
      if (other.open_attempts > 0) continue;
      if (std::pair(other.schedule_time, sequence) < std::pair(task.schedule_time, task.sequence)) {
        Complain(fmt::format("{} was sent before {}", Name(task), Name(other)));
      }
    }
  }
  ++task.dispatch_count;
  if (!task.first_dispatch_time.has_value()) task.first_dispatch_time = now;
  ++task.open_attempts;
  ++queue.open_attempts;
  ++open_attempts_;
  TaskFound(task, sent);
}

void TaskModel::Finished(const StartAttempt& attempt, bool is_forced, const AttemptOutcome& outcome,
                         Time now) {
  --open_attempts_;
  const Sequence sequence = attempt.task.body->sequence;
  ModelQueue* queue = Find(homes_.at(sequence));
  if (queue == nullptr) return;
  --queue->open_attempts;
  const auto it = queue->live.find(sequence);
  if (it == queue->live.end()) return;

  ModelTask& task = it->second;
  --task.open_attempts;
  AdaptPace(*queue, outcome, now);
  const bool is_response = outcome.kind == AttemptOutcome::Kind::kResponse;
  if (is_response && outcome.http_status / 100 == 2) return ExpectEnd(sequence, TaskEnd::kDone);
  if (queue->IsExpired(task, now)) return ExpectEnd(sequence, TaskEnd::kExpired);
  if (is_response) {
    ++task.response_count;
    if (outcome.http_status / 100 != 5) ++task.execution_count;
    task.previous_response = outcome.http_status;
  } else {
    task.previous_response = outcome.kind == AttemptOutcome::Kind::kTimedOut ? 504 : 503;
  }
  if (task.open_attempts > 0) return;
  if (IsExhausted(queue->RetryOf(task), task, now)) {
    return ExpectEnd(sequence, TaskEnd::kExhausted);
  }
  const double wait = IntervalSeconds(queue->RetryOf(task), task.dispatch_count);
  const Time from = is_forced ? attempt.task.progress.last_attempt->dispatch_time : now;
  task.schedule_time = std::max(now, from + absl::Microseconds(std::llround(wait * 1e6)));
  if (outcome.http_status == 429 || outcome.http_status == 503) {
    task.schedule_time = std::max(task.schedule_time, now + outcome.retry_after);
  }
}

void TaskModel::Restarted(Time now) {
  open_attempts_ = 0;
  for (auto& [id, queue] : queues_) {
    queue.open_attempts = 0;
    queue.tokens = 0;
    queue.tokens_time = now;
    queue.share = 1;
    queue.halved_at = queue.stopped_until = absl::InfinitePast();
    for (auto& [sequence, task] : queue.live) task.open_attempts = 0;
  }
}

void TaskModel::CheckIdle(Time now) {
  for (auto& [id, queue] : queues_) {
    Refill(queue, now);
    if (!queue.purged.empty()) Complain("queue " + id + ": purged tasks are not cleaned");
    for (const auto& [sequence, task] : queue.live) {
      if (queue.IsExpired(task, now)) Complain(Name(task) + " should have expired");
      const bool is_blocked = queue.is_paused || task.open_attempts > 0 ||
                              task.schedule_time > now || queue.stopped_until > now ||
                              queue.tokens < 1 + kTokenSlack ||
                              open_attempts_ >= limits_.in_flight_max ||
                              queue.open_attempts >= queue.config.rate.max_concurrent_dispatches;
      if (!is_blocked) Complain(Name(task) + " should have been sent");
    }
  }
}

}  // namespace sluice::core::testing
