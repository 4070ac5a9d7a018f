// SPDX-License-Identifier: Apache-2.0
#include "eager_writer.h"

#include <algorithm>
#include <utility>

namespace sluice::sink {

EagerWriter::EagerWriter(std::unique_ptr<RecordMapper> mapper,
                         std::unique_ptr<FailedTaskHandler> handler,
                         std::unique_ptr<TaskCreator> creator, const WriterOptions& options,
                         const HostServices& host)
    : mapper_(std::move(mapper)),
      handler_(std::move(handler)),
      creator_(std::move(creator)),
      options_(options),
      transient_(options.transient_schedule()),
      not_found_(options.not_found_schedule()),
      host_(host),
      error_classes_(host.metrics->Group("errorClass")),
      records_send_(host.metrics->GetCounter("numRecordsSend")),
      bytes_send_(host.metrics->GetCounter("numBytesSend")),
      send_errors_(host.metrics->GetCounter("numRecordsSendErrors")),
      skipped_(host.metrics->GetCounter("recordsSkipped")),
      deduplicated_(host.metrics->GetCounter("tasksDeduplicated")) {
  host_.metrics->SetGauge("inFlightTasks", [gauges = gauges_] {
    return gauges->in_flight.load(std::memory_order_relaxed);
  });
  host_.metrics->SetGauge(
      "parkedTasks", [gauges = gauges_] { return gauges->parked.load(std::memory_order_relaxed); });
}

EagerWriter::~EagerWriter() {
  IgnoreError(Close(), "a host that wants to know closes first");
  for (const EntryRef& entry : entries_) entry->writer = nullptr;
}

Status EagerWriter::Write(const AnyRecord& record) {
  if (closed_) return FailedPrecondition("the writer is closed");
  SLUICE_RETURN_IF_ERROR(async_error_);
  SLUICE_RETURN_IF_ERROR(DispatchDue());
  EntryRef entry = TakeEntry();
  bool send = false;
  Status prepared = Prepare(record, *entry, send);
  // The slot is taken last: skipped and refused records wait for nobody.
  if (prepared.ok() && send) prepared = AwaitCapacity();
  if (!prepared.ok() || !send) {
    Release(entry);
    return prepared;
  }
  return Dispatch(entry);
}

/// From the record to a request that may be sent; leaves `send` false for a record
/// that was skipped or went to the handler.
Status EagerWriter::Prepare(const AnyRecord& record, Entry& entry, bool& send) {
  SLUICE_ASSIGN_OR_RETURN(const QueueDestination* queue, mapper_->Resolve(record));
  if (queue == nullptr) {
    return InvalidArgument("the destination resolver returned null; each record needs a queue");
  }
  if (!entry.queue || !(*entry.queue == *queue)) {
    entry.queue = *queue;
    entry.request.set_parent(queue->path());
  }
  google::cloud::tasks::v2::Task& task = *entry.request.mutable_task();
  const StatusOr<bool> serialized = mapper_->Serialize(record, task);
  if (!serialized.ok()) {
    return Route(*entry.queue, nullptr, "record could not be serialized",
                 Failure(serialized.status()));
  }
  if (!*serialized) {
    skipped_.Add();
    return {};
  }
  if (!task.name().empty()) {
    return InvalidArgument(
        "the serializer for {} returned a task that is already named \"{}\"; the sink composes "
        "names",
        entry.queue->ToString(), task.name());
  }
  if (mapper_->has_task_ids()) {
    const StatusOr<std::optional<std::string>> key = mapper_->TaskKey(record);
    if (!key.ok()) {
      return Route(*entry.queue, &task, "task id could not be extracted", Failure(key.status()));
    }
    if (!*key || (*key)->empty()) {
      return InvalidArgument(
          "the task id extractor for {} {}; without a key the task would lose its deduplication",
          entry.queue->ToString(), *key ? "returned an empty key" : "returned null");
    }
    std::string& name = *task.mutable_name();
    name.append(entry.queue->path()).append("/tasks/");
    hasher_.AppendId(**key, name);
  }
  send = true;
  return {};
}

Status EagerWriter::AwaitCapacity() {
  while (in_flight_ + parked() >= options_.max_in_flight_tasks()) {
    SLUICE_RETURN_IF_ERROR(async_error_);
    RunMailOrWait();
    SLUICE_RETURN_IF_ERROR(DispatchDue());
  }
  return async_error_;
}

/// One step towards a free slot: a completion, or the time of the next attempt.
void EagerWriter::RunMailOrWait() {
  std::optional<env::MonotonicTime> until;
  if (!parked_.empty()) until = parked_.front().due;
  host_.mailbox->RunOneUntil(until);
}

Status EagerWriter::DispatchDue() {
  if (parked_.empty()) return {};
  const env::MonotonicTime now = host_.monotonic_clock->Now();
  while (!parked_.empty() && parked_.front().due <= now) {
    std::pop_heap(parked_.begin(), parked_.end());
    const EntryRef entry = std::move(parked_.back().entry);
    parked_.pop_back();
    SLUICE_RETURN_IF_ERROR(Dispatch(entry));
  }
  return {};
}

Status EagerWriter::Dispatch(const EntryRef& entry) {
  entry->mailbox = host_.mailbox;
  const auto handle =
      creator_->Create(entry->request, std::nullopt, [entry](CreateOutcome outcome) {
        entry->outcome = std::move(outcome);
        const std::shared_ptr<Mailbox> mailbox = std::move(entry->mailbox);
        mailbox->Post([entry] {
          if (entry->writer != nullptr) entry->writer->OnDone(entry);
        });
      });
  if (!handle.ok()) {
    Status failed = Failure(handle.status())
                        .WrappedIn(fmt::format("the create of a task on {} could not be started",
                                               entry->queue->path()))
                        .ToStatus();
    entry->mailbox.reset();
    Release(entry);
    PublishGauges();
    return failed;
  }
  ++in_flight_;
  if (!entry->sent_before) {
    entry->sent_before = true;
    records_send_.Add();
    bytes_send_.Add(static_cast<std::int64_t>(entry->request.task().ByteSizeLong()));
    if (options_.per_destination_metrics()) CountersOf(*entry->queue).records_send->Add();
  }
  PublishGauges();
  return {};
}

void EagerWriter::OnDone(const EntryRef& entry) {
  if (closed_) return;
  --in_flight_;
  const CreateOutcome outcome = std::exchange(entry->outcome, std::nullopt);
  if (outcome) {
    OnFailure(entry, *outcome);
  } else {
    Release(entry);
  }
  PublishGauges();
}

/// The order of the tests is the contract: what a later test would do is decided by
/// which earlier one did not hold.
void EagerWriter::OnFailure(const EntryRef& entry, const Failure& failure) {
  const std::optional<absl::StatusCode> code = failure.code();
  const std::optional<absl::StatusCode> transient = failure.transient();
  const google::cloud::tasks::v2::Task& task = entry->request.task();
  const std::string& path = entry->queue->path();
  if (code == absl::StatusCode::kAlreadyExists && !task.name().empty()) {
    deduplicated_.Add();
    Release(entry);
    return;
  }
  error_classes_->Group(failure.class_name())->GetCounter("errors").Add();
  if (!transient && code == absl::StatusCode::kInvalidArgument) {
    Fail(Route(*entry->queue, &task, "CreateTask was answered with INVALID_ARGUMENT", failure));
    Release(entry);
    return;
  }
  if (!async_error_.ok()) {
    Release(entry);
    return;
  }
  if (transient) {
    const int failures = ++entry->transient_failures;
    if (transient_.MayRetryAfter(failures)) {
      Park(entry, transient_.Jittered(failures, *host_.random));
      return;
    }
    Fail(
        failure
            .WrappedIn(fmt::format("creating a task on {} kept failing with {} after {} attempt(s)",
                                   path, StatusCodeName(*transient), failures))
            .ToStatus());
  } else if (code == absl::StatusCode::kNotFound) {
    const int failures = ++entry->not_found_failures;
    if (not_found_.MayRetryAfter(failures)) {
      Park(entry, not_found_.Jittered(failures, *host_.random));
      return;
    }
    Fail(failure
             .WrappedIn(fmt::format(
                 "creating a task on {} kept failing with NOT_FOUND after {} attempt(s); the queue "
                 "may not exist, or is being activated again after a long idle time",
                 path, failures))
             .ToStatus());
  } else {
    const std::string_view unreachable =
        code == absl::StatusCode::kAlreadyExists
            ? "; the task carries no name, so this answer should be unreachable"
            : "";
    Fail(failure.WrappedIn(fmt::format("creating a task on {} failed{}", path, unreachable))
             .ToStatus());
  }
  Release(entry);
}

Status EagerWriter::Route(const QueueDestination& queue, const google::cloud::tasks::v2::Task* task,
                          std::string message, std::optional<Failure> cause) {
  send_errors_.Add();
  if (options_.per_destination_metrics()) CountersOf(queue).send_errors->Add();
  return handler_->Handle(FailedTask(queue, task, std::move(message), std::move(cause)));
}

void EagerWriter::Park(const EntryRef& entry, std::chrono::milliseconds delay) {
  const env::MonotonicTime now = host_.monotonic_clock->Now();
  const auto longest =
      std::chrono::duration_cast<std::chrono::milliseconds>(env::MonotonicTime::max() - now);
  parked_.push_back({now + std::min(delay, longest), next_order_++, entry});
  std::push_heap(parked_.begin(), parked_.end());
}

void EagerWriter::Fail(Status failure) {
  if (async_error_.ok()) async_error_ = std::move(failure);
}

Status EagerWriter::Flush(bool end_of_input) {
  static_cast<void>(end_of_input);  // a barrier and the end ask for the same
  if (closed_) return FailedPrecondition("the writer is closed");
  while (true) {
    SLUICE_RETURN_IF_ERROR(async_error_);
    SLUICE_RETURN_IF_ERROR(DispatchDue());
    if (in_flight_ == 0 && parked_.empty()) break;
    RunMailOrWait();
  }
  return handler_->Flush();
}

StatusOr<std::vector<Envelope>> EagerWriter::PrepareCommit() {
  if (closed_) return FailedPrecondition("the writer is closed");
  return std::vector<Envelope>{};
}

Status EagerWriter::Close() {
  if (closed_) return {};
  closed_ = true;
  parked_.clear();
  Status first = creator_->Close();
  const Status second = handler_->Close();
  in_flight_ = 0;
  PublishGauges();
  return first.ok() ? second : first;
}

EagerWriter::EntryRef EagerWriter::TakeEntry() {
  if (free_.empty()) {
    auto entry = std::make_shared<Entry>();
    entry->writer = this;
    entries_.push_back(entry);
    return entry;
  }
  EntryRef entry = std::move(free_.back());
  free_.pop_back();
  return entry;
}

void EagerWriter::Release(const EntryRef& entry) {
  entry->request.mutable_task()->Clear();
  entry->transient_failures = 0;
  entry->not_found_failures = 0;
  entry->sent_before = false;
  free_.push_back(entry);
}

EagerWriter::QueueCounters& EagerWriter::CountersOf(const QueueDestination& queue) {
  const auto found = queue_counters_.find(queue.path());
  if (found != queue_counters_.end()) return found->second;
  const auto group = host_.metrics->Group("destination")->Group(queue.path());
  return queue_counters_
      .emplace(queue.path(),
               QueueCounters{&group->GetCounter("recordsSend"), &group->GetCounter("sendErrors")})
      .first->second;
}

void EagerWriter::PublishGauges() {
  gauges_->in_flight.store(in_flight_, std::memory_order_relaxed);
  gauges_->parked.store(parked(), std::memory_order_relaxed);
}

StatusOr<std::unique_ptr<SinkWriter>> OpenEagerWriter(EagerWriterParts parts) {
  const HandlerContext context{.subtask_index = parts.host.subtask_index,
                               .metrics = parts.host.metrics};
  if (const Status opened = parts.mapper->Open(context); !opened.ok()) {
    return Failure(opened).WrappedIn("the serialization schema could not be opened").ToStatus();
  }
  SLUICE_RETURN_IF_ERROR(parts.handler->Open(context));
  StatusOr<std::unique_ptr<TaskCreator>> creator = parts.make_creator();
  if (!creator.ok()) {
    const Status closed = parts.handler->Close();
    if (closed.ok()) return creator.status();
    return Status(creator.status().code(),
                  fmt::format("{} (and closing the failed-task handler failed: {})",
                              Message(creator.status()), Message(closed)));
  }
  return std::make_unique<EagerWriter>(std::move(parts.mapper), std::move(parts.handler),
                                       *std::move(creator), parts.options, parts.host);
}

}  // namespace sluice::sink
