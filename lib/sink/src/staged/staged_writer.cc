// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/staged_writer.h"

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "google/cloud/tasks/v2/task.pb.h"
#include "sluice/sink/staged/envelope_codec.h"
#include "sluice/sink/staged/task_check.h"
#include "sluice/sink/task_id.h"
#include "staged/replay_gauges.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;

/// 128 random bits as 32 lower-case hexadecimal characters.
std::string RandomId(env::Random& random) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  id.reserve(32);
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t bits = random.Bits();
    for (int shift = 60; shift >= 0; shift -= 4) id.push_back(kDigits[(bits >> shift) & 0xf]);
  }
  return id;
}

class StagedWriter final : public SinkWriter {
 public:
  StagedWriter(std::unique_ptr<RecordMapper> mapper, const StagedOptions& options,
               const HostServices& host)
      : mapper_(std::move(mapper)),
        options_(options),
        clock_(*host.wall_clock),
        random_(*host.random),
        skipped_(host.metrics->GetCounter("recordsSkipped")),
        send_errors_(host.metrics->GetCounter("numRecordsSendErrors")),
        gauges_(*host.metrics, "oldestStagedTaskAgeMillis", "stagedReplayBudgetMillis", clock_) {
    host.metrics->SetGauge("stagedTasks", [sizes = sizes_] { return sizes->tasks.load(); });
    host.metrics->SetGauge("stagedBytes", [sizes = sizes_] { return sizes->bytes.load(); });
  }

  Status Write(const AnyRecord& record) override;
  Status Flush(bool /*end_of_input*/) override { return CheckOpen(); }
  StatusOr<std::vector<Envelope>> PrepareCommit() override;
  Status Close() override;

 private:
  struct Sizes {
    std::atomic<std::int64_t> tasks{0};
    std::atomic<std::int64_t> bytes{0};
  };

  Status CheckOpen() const {
    return closed_ ? FailedPrecondition("staged writer is closed") : Status();
  }
  /// Counts the record as one that cannot be sent and passes `refusal` on.
  Status Refuse(Status refusal) {
    send_errors_.Add();
    return refusal;
  }
  StatusOr<std::string> IdOf(const AnyRecord& record);
  Status CheckCapacity(std::int64_t additional) const;
  void ResetBatch();

  const std::unique_ptr<RecordMapper> mapper_;
  const StagedOptions options_;
  const env::Clock& clock_;
  env::Random& random_;
  Counter& skipped_;
  Counter& send_errors_;
  ReplayGauges gauges_;
  const std::shared_ptr<Sizes> sizes_ = std::make_shared<Sizes>();
  TaskIdHasher hasher_;
  std::vector<Envelope> batch_;
  std::int64_t staged_bytes_ = 0;
  bool closed_ = false;
};

StatusOr<std::string> StagedWriter::IdOf(const AnyRecord& record) {
  if (!mapper_->has_task_ids()) return RandomId(random_);
  const StatusOr<std::optional<std::string>> key = mapper_->TaskKey(record);
  if (!key.ok()) return Refuse(FailedPrecondition("staged writer: the task id extractor failed"));
  if (!key->has_value() || (*key)->empty()) {
    return FailedPrecondition(
        "staged writer: the task id extractor returned {} key; every record needs a key, or it "
        "could not be recognized when it comes again",
        key->has_value() ? "an empty" : "no");
  }
  return hasher_.IdOf(**key);
}

Status StagedWriter::CheckCapacity(std::int64_t additional) const {
  const auto count = static_cast<std::int64_t>(batch_.size());
  if (count < options_.max_staged_tasks() &&
      additional <= options_.max_staged_bytes() - staged_bytes_) {
    return {};
  }
  return ResourceExhausted(
      "staged writer is full: stagedTasks={} of maxStagedTasks={}, stagedBytes={} of "
      "maxStagedBytes={}, the next task adds {} bytes; shorten the checkpoint interval, raise the "
      "cap together with the heap, or raise the parallelism",
      count, options_.max_staged_tasks(), staged_bytes_, options_.max_staged_bytes(), additional);
}

Status StagedWriter::Write(const AnyRecord& record) {
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  const StatusOr<const QueueDestination*> queue = mapper_->Resolve(record);
  if (!queue.ok()) return FailedPrecondition("staged writer: the destination resolver failed");
  if (*queue == nullptr) {
    return FailedPrecondition("staged writer: the destination resolver returned null");
  }
  pb::Task task;
  const StatusOr<bool> kept = mapper_->Serialize(record, task);
  if (!kept.ok()) {
    return Refuse(InvalidArgument("staged writer: serialization failed in the serializer"));
  }
  if (!*kept) {
    skipped_.Add();
    return {};
  }
  if (!task.name().empty()) {
    return FailedPrecondition(
        "staged writer: the serializer's task is already named; the sink composes names");
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string id, IdOf(record));
  task.set_name((*queue)->path() + "/tasks/" + id);

  // The size before the capacity: a task that can never fit must not be reported as
  // one that a shorter interval would help.
  const std::size_t size = task.ByteSizeLong();
  if (size > kStagedTaskBytesMax) {
    return Refuse(
        InvalidArgument("staged writer: serialization failed: the named task has {} bytes, allowed "
                        "are 1 to {}",
                        size, kStagedTaskBytesMax));
  }
  const std::int64_t additional = static_cast<std::int64_t>(size) + kEnvelopeOverheadBytes;
  SLUICE_RETURN_IF_ERROR(CheckCapacity(additional));
  const std::int64_t origin = NowMillis(clock_);
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t deadline, options_.DeadlineMillis(origin));
  if (!CheckTaskTarget(task).ok()) {
    return Refuse(InvalidArgument(
        "staged writer: serialization failed: the task violates its target constraints"));
  }
  std::string bytes;
  if (!task.SerializeToString(&bytes)) {
    return Refuse(InvalidArgument("staged writer: serialization failed: the task has no encoding"));
  }
  batch_.push_back({.queue = **queue,
                    .origin_millis = origin,
                    .deadline_millis = deadline,
                    .task = std::move(bytes)});
  staged_bytes_ += additional;
  sizes_->tasks.store(static_cast<std::int64_t>(batch_.size()));
  sizes_->bytes.store(staged_bytes_);
  gauges_.Add(origin, deadline);
  return {};
}

void StagedWriter::ResetBatch() {
  batch_.clear();
  staged_bytes_ = 0;
  sizes_->tasks.store(0);
  sizes_->bytes.store(0);
  gauges_.Clear();
}

StatusOr<std::vector<Envelope>> StagedWriter::PrepareCommit() {
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  std::vector<Envelope> batch = std::exchange(batch_, {});
  ResetBatch();
  return batch;
}

Status StagedWriter::Close() {
  closed_ = true;
  ResetBatch();
  batch_.shrink_to_fit();
  return {};
}

}  // namespace

StatusOr<std::unique_ptr<SinkWriter>> OpenStagedWriter(StagedWriterParts parts) {
  if (!parts.handler->fails_job()) {
    return InvalidArgument(
        "exactly-once delivery takes the failed-task handler failJob only: another one may drop "
        "records");
  }
  SLUICE_RETURN_IF_ERROR(parts.mapper->Open(
      {.subtask_index = parts.host.subtask_index, .metrics = parts.host.metrics}));
  std::unique_ptr<SinkWriter> writer =
      std::make_unique<StagedWriter>(std::move(parts.mapper), parts.options, parts.host);
  return writer;
}

}  // namespace sluice::sink
