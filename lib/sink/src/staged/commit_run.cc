// SPDX-License-Identifier: Apache-2.0
#include "staged/commit_run.h"

#include <algorithm>
#include <optional>

#include "google/cloud/tasks/v2/cloudtasks.pb.h"
#include "sluice/sink/staged/envelope_codec.h"
#include "sluice/sink/staged/task_check.h"

namespace sluice::sink {

CommitterMetrics::CommitterMetrics(MetricGroup& metric_group, const env::Clock& clock)
    : group(metric_group),
      gauges(group, "currentCommitOldestTaskAgeMillis", "currentCommitReplayBudgetMillis", clock),
      expired_failed(group.GetCounter("expiredEnvelopesFailed")),
      expired_assumed_committed(group.GetCounter("expiredEnvelopesAssumedCommitted")),
      expired_dropped(group.GetCounter("expiredEnvelopesDropped")),
      expired_creates_authorized(group.GetCounter("expiredEnvelopeCreatesAuthorized")),
      deduplicated(group.GetCounter("tasksDeduplicated")) {}

Counter& CommitterMetrics::Errors(const Failure& failure) {
  return group.GetCounter(fmt::format("errorClass.{}.errors", failure.class_name()));
}

CommitRun::CommitRun(const StagedCommitterConfig& config, TaskCreator& creator,
                     const HostServices& host, CommitterMetrics& metrics,
                     const std::atomic<bool>& closed)
    : config_(config), creator_(creator), host_(host), metrics_(metrics), closed_(closed) {}

CommitRun::~CommitRun() {
  metrics_.gauges.Clear();
  for (auto& [id, entry] : active_) {
    if (entry.attempt != nullptr) Detach(*entry.attempt);
  }
  for (const std::shared_ptr<Attempt>& attempt : arrived_) attempt->run = nullptr;
}

Status CommitRun::Run(const std::vector<CommitRequest*>& requests) {
  SLUICE_RETURN_IF_ERROR(CheckHeaders(requests));
  pending_.assign(requests.begin(), requests.end());
  return Loop();
}

/// All of them before the first send: a foreign or broken envelope must not be found
/// when half the batch is out.
Status CommitRun::CheckHeaders(const std::vector<CommitRequest*>& requests) {
  ReplaySnapshot snapshot;
  for (const CommitRequest* request : requests) {
    const Envelope& envelope = request->envelope();
    if (!(envelope.queue == config_.queue)) {
      return FailedPrecondition(
          "staged committer of queue {}: an envelope belongs to queue {}; restore it with its "
          "original fixed destination",
          config_.queue.path(), envelope.queue.path());
    }
    if (envelope.deadline_millis <= envelope.origin_millis) {
      return DataLoss("staged committer of queue {}: an envelope has an unknown deadline ({})",
                      config_.queue.path(), envelope.deadline_millis);
    }
    SLUICE_ASSIGN_OR_RETURN(const std::int64_t deadline,
                            EffectiveDeadline(envelope, config_.staged));
    snapshot.Add(envelope.origin_millis, deadline);
  }
  metrics_.gauges.Set(snapshot);
  return {};
}

Status CommitRun::Loop() {
  while (!pending_.empty() || !active_.empty()) {
    if (closed_) return Cancelled("staged committer was closed during a commit");
    bool worked = RunMails();
    while (!arrived_.empty()) {
      const std::shared_ptr<Attempt> attempt = std::move(arrived_.front());
      arrived_.pop_front();
      SLUICE_RETURN_IF_ERROR(Settle(attempt));
    }
    SLUICE_RETURN_IF_ERROR(ExpireOneCall(worked));
    SLUICE_RETURN_IF_ERROR(AdmitOne(worked));
    SLUICE_RETURN_IF_ERROR(SendOneDue(worked));
    if (!worked && !(pending_.empty() && active_.empty())) Wait();
  }
  return {};
}

bool CommitRun::RunMails() {
  bool any = false;
  while (host_.mailbox->RunOneUntil(env::MonotonicTime::min())) any = true;
  return any;
}

void CommitRun::Wait() {
  std::optional<env::MonotonicTime> until;
  for (const std::set<Due>* times : {&due_, &call_deadlines_}) {
    if (times->empty()) continue;
    until = until.has_value() ? std::min(*until, times->begin()->first) : times->begin()->first;
  }
  host_.mailbox->RunOneUntil(until);
}

Status CommitRun::ExpireOneCall(bool& worked) {
  if (call_deadlines_.empty()) return {};
  const auto [deadline, id] = *call_deadlines_.begin();
  if (host_.monotonic_clock->Now() < deadline) return {};
  worked = true;
  Entry& entry = active_.at(id);
  call_deadlines_.erase(call_deadlines_.begin());
  Detach(*std::exchange(entry.attempt, nullptr));
  return Failed(id, entry,
                Failure(absl::StatusCode::kDeadlineExceeded, "no answer before the RPC deadline"));
}

Status CommitRun::AdmitOne(bool& worked) {
  if (pending_.empty() ||
      active_.size() >= static_cast<std::size_t>(config_.writer.max_in_flight_tasks())) {
    return {};
  }
  worked = true;
  CommitRequest* request = pending_.front();
  pending_.pop_front();
  const Envelope& envelope = request->envelope();
  // Before any policy for expired envelopes is asked: none of them covers corruption.
  SLUICE_RETURN_IF_ERROR(CheckStagedTask(envelope.queue.path(), envelope.task));
  const Id id = next_id_++;
  Entry& entry = active_[id];
  entry.request = request;
  entry.create.set_parent(envelope.queue.path());
  if (!entry.create.mutable_task()->ParseFromString(envelope.task)) {
    return DataLoss("staged task: encoding is not a task");
  }
  due_.emplace(host_.monotonic_clock->Now(), id);
  return {};
}

Status CommitRun::SendOneDue(bool& worked) {
  if (due_.empty()) return {};
  const auto [due, id] = *due_.begin();
  if (host_.monotonic_clock->Now() < due) return {};
  worked = true;
  due_.erase(due_.begin());
  return Send(id, active_.at(id));
}

Status CommitRun::Send(Id id, Entry& entry) {
  if (closed_) return Cancelled("staged committer was closed during a commit");
  // The order of both reads matters: a pause between them shortens the call and never
  // the safety margin behind the deadline.
  const env::MonotonicTime call_deadline =
      host_.monotonic_clock->Now() +
      std::chrono::duration_cast<env::MonotonicTime::duration>(config_.staged.request_timeout());
  const std::int64_t now = NowMillis(*host_.wall_clock);
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t deadline,
                          EffectiveDeadline(entry.request->envelope(), config_.staged));
  if (now >= deadline) {
    bool send = false;
    SLUICE_RETURN_IF_ERROR(Expired(id, entry, deadline, now, send));
    if (!send) return {};
  }
  if (config_.writer.per_destination_metrics() && !std::exchange(entry.counted_as_sent, true)) {
    Destination(entry, "recordsSend").Add();
  }
  auto attempt =
      std::make_shared<Attempt>(Attempt{.run = this, .id = id, .call = {}, .outcome = {}});
  StatusOr<std::unique_ptr<PendingCreate>> call = creator_.Create(
      entry.create, call_deadline,
      [attempt, mailbox = host_.mailbox](CreateOutcome outcome) mutable {
        mailbox->Post([attempt = std::move(attempt), outcome = std::move(outcome)]() mutable {
          if (attempt->run == nullptr) return;
          attempt->outcome = std::move(outcome);
          attempt->run->arrived_.push_back(attempt);
        });
      });
  if (!call.ok()) {
    attempt->run = nullptr;
    return Answered(id, entry, Failure(call.status()));
  }
  attempt->call = *std::move(call);
  entry.attempt = std::move(attempt);
  entry.call_deadline = call_deadline;
  call_deadlines_.emplace(call_deadline, id);
  return {};
}

Status CommitRun::Expired(Id id, Entry& entry, std::int64_t deadline, std::int64_t now,
                          bool& send) {
  switch (config_.staged.expired_envelope_policy()) {
    case ExpiredEnvelopePolicy::kFail:
      metrics_.expired_failed.Add();
      return FailedPrecondition(
          "staged envelope expired: queue {}, origin {} ms, effective deadline {} ms, now {} ms; "
          "choose an expiredEnvelopePolicy after reading docs/operations/sink-recovery.md",
          config_.queue.path(), entry.request->envelope().origin_millis, deadline, now);
    case ExpiredEnvelopePolicy::kAssumeCommitted:
      metrics_.expired_assumed_committed.Add();
      entry.request->SignalAlreadyCommitted();
      Finish(id);
      return {};
    case ExpiredEnvelopePolicy::kDrop:
      metrics_.expired_dropped.Add();
      Finish(id);
      return {};
    case ExpiredEnvelopePolicy::kCreateAnyway:
      metrics_.expired_creates_authorized.Add();
      send = true;
      return {};
  }
  return Internal("unknown policy for expired envelopes");
}

Status CommitRun::Settle(const std::shared_ptr<Attempt>& attempt) {
  if (attempt->run == nullptr) return {};
  attempt->run = nullptr;
  const Id id = attempt->id;
  Entry& entry = active_.at(id);
  call_deadlines_.erase({entry.call_deadline, id});
  entry.attempt = nullptr;
  return Answered(id, entry, attempt->outcome);
}

Status CommitRun::Answered(Id id, Entry& entry, const CreateOutcome& outcome) {
  if (!outcome.has_value()) {
    Finish(id);
    return {};
  }
  if (outcome->code() == absl::StatusCode::kAlreadyExists) {
    metrics_.deduplicated.Add();
    entry.request->SignalAlreadyCommitted();
    Finish(id);
    return {};
  }
  return Failed(id, entry, *outcome);
}

Status CommitRun::Failed(Id id, Entry& entry, const Failure& failure) {
  metrics_.Errors(failure).Add();
  const bool transient = failure.transient().has_value();
  if (transient || failure.code() == absl::StatusCode::kNotFound) {
    const RetrySchedule schedule =
        transient ? config_.writer.transient_schedule() : config_.writer.not_found_schedule();
    const int failures = transient ? ++entry.transient_failures : ++entry.not_found_failures;
    if (schedule.MayRetryAfter(failures)) {
      due_.emplace(host_.monotonic_clock->Now() + schedule.Jittered(failures, *host_.random), id);
      return {};
    }
  }
  if (config_.writer.per_destination_metrics()) Destination(entry, "sendErrors").Add();
  return Status(failure.code().value_or(absl::StatusCode::kUnknown),
                fmt::format("staged commit to queue {} failed with {}, transientFailures={}, "
                            "notFoundFailures={}",
                            config_.queue.path(), failure.class_name(), entry.transient_failures,
                            entry.not_found_failures));
}

void CommitRun::Detach(Attempt& attempt) {
  attempt.run = nullptr;
  if (attempt.call != nullptr) attempt.call->Cancel();
}

Counter& CommitRun::Destination(const Entry& entry, std::string_view name) {
  const std::string& queue = entry.request->envelope().queue.path();
  // Both at once: whoever sees one of the pair can rely on the other.
  for (const std::string_view both : {"recordsSend", "sendErrors"}) {
    static_cast<void>(metrics_.group.GetCounter(fmt::format("destination.{}.{}", queue, both)));
  }
  return metrics_.group.GetCounter(fmt::format("destination.{}.{}", queue, name));
}

}  // namespace sluice::sink
