// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace sluice::sim {
namespace {

constexpr std::size_t kFailuresMax = 5;
constexpr double kTokenSlack = 1e-6;

std::string Show(Time t) { return absl::FormatTime("%H:%M:%E6S", t, absl::UTCTimeZone()); }

}  // namespace

void Checker::Fail(std::string what) {
  if (failures_.size() < kFailuresMax) failures_.push_back(std::move(what));
}

void Checker::MayHaveEnded(TaskRecord& task, Time when) {
  if (!task.end_earliest || when < *task.end_earliest) task.end_earliest = when;
}

Checker::TaskRecord* Checker::LatestOf(const std::string& queue, const std::string& task_id) {
  const auto it = by_name_.find({queue, task_id});
  return it == by_name_.end() ? nullptr : &tasks_.at(it->second.back());
}

void Checker::QueueSettings(const std::string& queue, const core::QueueConfig& config) {
  QueueRecord& q = Queue(queue);
  q.rate_max = std::max(q.rate_max, config.rate.max_dispatches_per_second);
  q.burst_max = std::max<double>(q.burst_max, config.rate.max_burst_size);
  q.concurrency_max = std::max(q.concurrency_max, config.rate.max_concurrent_dispatches);
  const std::int32_t attempts = config.retry.max_attempts;
  // A limit by time lets attempts go on beyond the count.
  const bool is_unlimited = attempts < 0 || config.retry.max_retry_duration > absl::ZeroDuration();
  if (is_unlimited || q.attempts_max < 0) {
    q.attempts_max = -1;
  } else {
    q.attempts_max = std::max(q.attempts_max, attempts);
  }
  q.give_up_min = std::min(q.give_up_min, GiveUpAfter(config.retry));
  q.backoff_min = std::min(q.backoff_min, config.retry.min_backoff);
  q.task_ttl_min = std::min(q.task_ttl_min, config.task_ttl);
  q.tombstone_min = std::min(q.tombstone_min, config.tombstone_ttl);
}

void Checker::CreateIssued(const std::string& queue, const std::string& task_id) {
  names_issued_.insert({queue, task_id});
}

void Checker::CreateAcknowledged(const std::string& queue, const core::Task& task, bool is_named,
                                 Time issued, Time now) {
  ++acknowledged_;
  const auto name = std::pair{queue, task.body->task_id};
  if (is_named) {
    if (TaskRecord* before = LatestOf(queue, name.second)) {
      // A wipe of the queue may have taken the reservation with it.
      const std::vector<Time>& wipes = Queue(queue).wipes;
      const bool was_wiped =
          std::ranges::any_of(wipes, [&](Time t) { return t >= before->created; });
      const bool may_be_gone = MayBeGone(*before, now);
      const bool is_reserved =
          before->end_earliest && now - *before->end_earliest < Queue(queue).tombstone_min;
      if (!may_be_gone || (!was_wiped && is_reserved)) {
        Fail(fmt::format("name {}/{} was created twice: sequences {} and {} (now {})", queue,
                         name.second, by_name_[name].back(), task.body->sequence, Show(now)));
      }
    }
  }
  TaskRecord& record = tasks_[task.body->sequence];
  record.queue = queue;
  record.task_id = name.second;
  record.is_named = is_named;
  record.is_acknowledged = true;
  record.created = task.body->create_time;
  record.acknowledged = now;
  record.schedule_time = task.body->schedule_time;
  record.retry = task.body->retry;
  std::vector<core::Sequence>& lives = by_name_[name];
  if (lives.empty() || lives.back() != task.body->sequence) lives.push_back(task.body->sequence);
  // A wipe or a delete that was under way may already have taken it.
  for (const Time wipe : Queue(queue).wipes) {
    if (wipe >= issued) MayHaveEnded(record, wipe);
  }
  for (const Delete& attempt : deletes_[name]) {
    if (attempt.finished >= issued) MayHaveEnded(record, std::max(attempt.issued, issued));
  }
}

void Checker::CreateRefusedAsDuplicate(const std::string& queue, const std::string& task_id) {
  if (!names_issued_.contains({queue, task_id})) {
    Fail(fmt::format("name {}/{} was refused as a duplicate but never used", queue, task_id));
  }
}

void Checker::DeleteIssued(const std::string& queue, const std::string& task_id, Time now) {
  deletes_[{queue, task_id}].push_back({now});
  if (TaskRecord* task = LatestOf(queue, task_id)) MayHaveEnded(*task, now);
}

void Checker::DeleteFinished(const std::string& queue, const std::string& task_id, Time issued,
                             bool is_done, Time now) {
  for (Delete& attempt : deletes_[{queue, task_id}]) {
    if (attempt.issued == issued) attempt.finished = now;
  }
  TaskRecord* task = LatestOf(queue, task_id);
  if (is_done && task != nullptr && task->is_acknowledged && task->acknowledged <= issued) {
    task->delete_acknowledged = now;
  }
}

void Checker::RunIssued(const std::string& queue, const std::string& task_id) {
  ++Queue(queue).run_credit_rate;
  ++Queue(queue).run_credit_concurrency;
  ++runs_issued_[{queue, task_id}];
}

void Checker::WipeIssued(const std::string& queue, Time now) {
  Queue(queue).wipes.push_back(now);
  for (auto& [sequence, task] : tasks_) {
    if (task.queue == queue) MayHaveEnded(task, now);
  }
}

void Checker::QueueDeleted(const std::string& queue) {
  Queue(queue).tokens_at = absl::InfinitePast();
  Queue(queue).in_flight.clear();
}

void Checker::PauseAcknowledged(const std::string& queue) { Queue(queue).is_paused = true; }
void Checker::ResumeIssued(const std::string& queue) { Queue(queue).is_paused = false; }

std::int32_t Checker::GiveUpAfter(const core::RetryConfig& retry) {
  if (retry.max_attempts < 0 && retry.max_retry_duration == absl::ZeroDuration()) return kNever;
  return std::max(1, retry.max_attempts);
}

bool Checker::MayBeGone(const TaskRecord& task, Time now) {
  if (task.end_earliest && *task.end_earliest <= now) return true;
  // An attempt that a crash cut off between its record and its request counts,
  // and was seen by nobody.
  const std::int32_t give_up =
      task.retry ? GiveUpAfter(*task.retry) : Queue(task.queue).give_up_min;
  return task.attempts + task.deaths >= give_up;
}

void Checker::NotFound(const std::string& queue, const std::string& task_id, Time issued,
                       Time now) {
  TaskRecord* task = LatestOf(queue, task_id);
  if (task == nullptr || !task->is_acknowledged || task->acknowledged > issued) return;
  if (task->created + Queue(queue).task_ttl_min <= now) return;
  if (!MayBeGone(*task, now)) {
    Fail(fmt::format("task {}/{} was acknowledged at {} and is not found at {}", queue, task_id,
                     Show(task->acknowledged), Show(now)));
  }
}

void Checker::Listed(const std::string& queue, const std::set<core::Sequence>& sequences,
                     Time issued, Time now) {
  for (auto& [sequence, task] : tasks_) {
    if (task.queue != queue || !task.is_acknowledged || task.acknowledged > issued) continue;
    if (task.created + Queue(queue).task_ttl_min <= now) continue;
    const bool is_listed = sequences.contains(sequence);
    if (!is_listed && !MayBeGone(task, now)) {
      Fail(fmt::format("task {}/{} (sequence {}) is missing from a listing at {}", queue,
                       task.task_id, sequence, Show(now)));
    }
    if (is_listed && task.delete_acknowledged && *task.delete_acknowledged < issued) {
      Fail(fmt::format("task {}/{} was deleted and is listed at {}", queue, task.task_id,
                       Show(now)));
    }
  }
}

void Checker::AttemptLeft(const core::StartAttempt& attempt, Time now) {
  ++attempts_;
  const std::string queue = attempt.queue.queue_id;
  QueueRecord& q = Queue(queue);
  const core::TaskBody& body = *attempt.task.body;
  const std::string what =
      fmt::format("attempt {} of {}/{} at {}", attempt.task.progress.dispatch_count, queue,
                  body.task_id, Show(now));
  if (!attempt.task.progress.last_attempt) return Fail(what + " carries no attempt");
  const Time dispatched = attempt.task.progress.last_attempt->dispatch_time;
  const std::int64_t runs = runs_issued_[{queue, body.task_id}];

  TaskRecord& task = tasks_[body.sequence];
  if (task.queue.empty()) {  // its create was never answered
    task.queue = queue;
    task.task_id = body.task_id;
    task.created = body.create_time;
    task.schedule_time = body.schedule_time;
    task.retry = body.retry;
    by_name_[{queue, body.task_id}].push_back(body.sequence);
  }
  ++task.attempts;

  if (dispatched > now) Fail(what + " left before its own dispatch time");
  if (runs == 0 && dispatched < task.schedule_time) {
    Fail(fmt::format("{} was early: scheduled for {}", what, Show(task.schedule_time)));
  }
  if (runs == 0 && task.failure_arrived) {
    const Duration backoff = task.retry ? task.retry->min_backoff : q.backoff_min;
    if (dispatched < *task.failure_arrived + backoff) Fail(what + " came before its back-off");
    if (dispatched < *task.failure_arrived + task.retry_after) {
      Fail(what + " came before its target's Retry-After");
    }
  }
  if (task.delete_acknowledged && now > *task.delete_acknowledged) {
    Fail(what + " left after its delete was acknowledged");
  }
  if (q.is_paused && runs == 0) Fail(what + " left while the queue was paused");

  std::int32_t attempts_max = q.attempts_max;
  if (task.retry) {
    const bool is_unlimited =
        task.retry->max_attempts < 0 || task.retry->max_retry_duration > absl::ZeroDuration();
    attempts_max = is_unlimited ? -1 : task.retry->max_attempts;
  }
  if (attempts_max >= 0 && task.attempts > attempts_max + runs) {
    Fail(fmt::format("{} is number {} of at most {} (and {} runs)", what, task.attempts,
                     attempts_max, runs));
  }

  // A bucket as full as it can be, refilled as fast as it ever was.
  if (q.tokens_at == absl::InfinitePast()) {
    q.tokens = q.burst_max;
  } else if (dispatched > q.tokens_at) {
    q.tokens = std::min(q.burst_max,
                        q.tokens + absl::ToDoubleSeconds(dispatched - q.tokens_at) * q.rate_max);
  }
  q.tokens_at = std::max(q.tokens_at, dispatched);
  q.tokens -= 1;
  if (q.tokens < -kTokenSlack) {
    if (q.run_credit_rate > 0) {
      --q.run_credit_rate;
      q.tokens += 1;
    } else {
      Fail(fmt::format("{} exceeds the rate: {} tokens left", what, q.tokens));
    }
  }
  q.in_flight.insert(attempt.id);
  const auto in_flight = static_cast<std::int64_t>(q.in_flight.size());
  if (in_flight > q.concurrency_max + q.run_credit_concurrency) {
    Fail(fmt::format("{} makes {} in flight, allowed are {}", what, in_flight, q.concurrency_max));
  }
}

void Checker::OutcomeArrived(const core::StartAttempt& attempt, const core::AttemptOutcome& outcome,
                             bool is_success, Time now) {
  const std::string queue = attempt.queue.queue_id;
  Queue(queue).in_flight.erase(attempt.id);
  TaskRecord& task = tasks_[attempt.task.body->sequence];
  if (is_success) {
    MayHaveEnded(task, now);
  } else {
    task.failure_arrived = now;
    // Only overload gives a Retry-After, as the target of this simulation answers.
    task.retry_after = absl::Floor(outcome.retry_after, absl::Microseconds(1));
  }
}

void Checker::Ended(const core::TaskEnded& ended) {
  if (!ended_in_life_.insert({ended.queue, ended.sequence}).second) {
    Fail(fmt::format("the task with sequence {} ended twice", ended.sequence));
  }
}

void Checker::ServerDied() {
  ended_in_life_.clear();
  for (auto& [name, queue] : queues_) queue.in_flight.clear();
  for (auto& [sequence, task] : tasks_) {
    task.failure_arrived.reset();
    ++task.deaths;
  }
}

void Checker::Drained(Time now) {
  for (const auto& [sequence, task] : tasks_) {
    if (task.is_acknowledged && !MayBeGone(task, now) &&
        task.created + Queue(task.queue).task_ttl_min > now) {
      Fail(
          fmt::format("task {}/{} (sequence {}) was acknowledged at {} and vanished: no success, "
                      "delete, purge, expiry or exhaustion",
                      task.queue, task.task_id, sequence, Show(task.acknowledged)));
    }
  }
}

}  // namespace sluice::sim
