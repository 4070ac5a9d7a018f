// SPDX-License-Identifier: Apache-2.0
#include "runner/task_sink.h"

#include <utility>
#include <vector>

#include "env/posix/clock.h"
#include "env/posix/file_system.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "runner/client.h"
#include "runner/dead_letter_file.h"
#include "runner/record_mapper.h"
#include "sluice/sink/eager_writer.h"
#include "sluice/sink/failed_task_handler.h"
#include "sluice/sink/options.h"
#include "sluice/sink/queue_destination.h"
#include "sluice/sink/record_mapper.h"
#include "sluice/sink/staged/committable_collector.h"
#include "sluice/sink/staged/envelope_codec.h"
#include "sluice/sink/staged/staged_committer.h"
#include "sluice/sink/staged/staged_writer.h"

namespace sluice::runner {
namespace {

using Task = google::cloud::tasks::v2::Task;

/// The record under way, and what is wrong with it.
struct Item {
  std::string place;
  std::string text;  // kept for the dead-letter file alone
  StatusOr<ParsedRecord> parsed;
  Status failure;  // of the mapping
};

// A name adds to a task what its queue and a digest take.
constexpr std::int64_t kNameBytes = 7 + 64 + 4;

class Mapping : public sink::RecordMapper {
 public:
  Mapping(sink::QueueDestination queue, runner::RecordMapper mapper)
      : queue_(std::move(queue)), mapper_(std::move(mapper)) {}

  Status Open(const sink::HandlerContext& /*context*/) override { return {}; }

  StatusOr<const sink::QueueDestination*> Resolve(const sink::AnyRecord& /*record*/) override {
    return &queue_;
  }

  StatusOr<bool> Serialize(const sink::AnyRecord& record, Task& task) override {
    Item& item = Of(record);
    item.failure = item.parsed.status();
    if (item.failure.ok()) {
      StatusOr<Task> mapped = mapper_.ToTask(*item.parsed);
      item.failure = mapped.status();
      if (mapped.ok()) task = *std::move(mapped);
    }
    if (!item.failure.ok()) return item.failure;
    last_task_bytes_ = static_cast<std::int64_t>(task.ByteSizeLong() + queue_.path().size()) +
                       kNameBytes + sink::kEnvelopeOverheadBytes;
    return true;
  }

  [[nodiscard]] bool has_task_ids() const override { return mapper_.has_key(); }

  StatusOr<std::optional<std::string>> TaskKey(const sink::AnyRecord& record) override {
    Item& item = Of(record);
    StatusOr<std::string> key = mapper_.ToKey(*item.parsed);
    item.failure = key.status();
    if (!key.ok()) return key.status();
    return std::optional<std::string>(*std::move(key));
  }

  [[nodiscard]] const sink::QueueDestination* fixed_queue() const override { return &queue_; }

  /// At most what the task serialized last takes of a batch.
  [[nodiscard]] std::int64_t last_task_bytes() const { return last_task_bytes_; }

 private:
  // The address is of an Item that TaskSink::Write owns; the interface has it const.
  static Item& Of(const sink::AnyRecord& record) {
    return **static_cast<Item* const*>(record.value);
  }

  sink::QueueDestination queue_;
  runner::RecordMapper mapper_;
  std::int64_t last_task_bytes_ = 0;
};

/// What the library asks of its host, of one writer or committer.
struct Services {
  explicit Services(std::shared_ptr<sink::MetricGroup> group) : metrics(std::move(group)) {
    host.mailbox = mailbox;
    host.metrics = metrics.get();
    host.wall_clock = &wall_clock;
    host.monotonic_clock = &steady_clock;
    host.random = &random;
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  std::shared_ptr<sink::MetricGroup> metrics;
  std::shared_ptr<sink::Mailbox> mailbox = std::make_shared<sink::ThreadMailbox>();
  env::SystemClock wall_clock;
  env::SteadyClock steady_clock;
  env::SystemRandom random;
  sink::HostServices host;
};

class TaskSink : public SinkPort {
 public:
  explicit TaskSink(sink::MetricRegistry* metrics)
      : writing_(metrics->Group("writer")), committing_(metrics->Group("committer")) {}

  Status Write(Record record) override {
    Item item{.place = record.place,
              .text = record.text,
              .parsed = ParseRecord(std::move(record)),
              .failure = {}};
    Item* const address = &item;
    current_ = &item;
    const Status status = writer_->Write({.value = &address, .context = {}});
    current_ = nullptr;
    if (!status.ok()) {
      // The library may keep its message free of what the record holds; ours names a place and a
      // rule.
      if (!item.failure.ok()) {
        return Status(item.failure.code(),
                      fmt::format("{}: {}", item.place, Message(item.failure)));
      }
      return Status(status.code(), fmt::format("{}: {}", item.place, Message(status)));
    }
    if (fill_.tasks_max > 0) {
      ++fill_.tasks;
      fill_.bytes += mapping_->last_task_bytes();
    }
    return {};
  }

  Status Pump() override {
    while (writing_.mailbox->RunOneUntil(writing_.steady_clock.Now())) {
    }
    return {};
  }

  Status Flush(bool is_end_of_input) override { return writer_->Flush(is_end_of_input); }

  StatusOr<std::string> TakeBatch() override {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<sink::Envelope> envelopes, writer_->PrepareCommit());
    fill_.tasks = 0;
    fill_.bytes = 0;
    if (envelopes.empty()) return std::string();
    return sink::EncodeBatch(envelopes);
  }

  Status Commit(const std::string& batch) override {
    if (committer_ == nullptr) {
      return FailedPrecondition(
          "the checkpoint holds tasks of an exactly-once run; go on with exactly-once");
    }
    return sink::CommitEncodedBatch(batch, *committer_);
  }

  Status Close() override {
    Status status = writer_->Close();
    if (committer_ != nullptr) status.Update(committer_->Close());
    return status;
  }

  [[nodiscard]] BatchFill fill() const override { return fill_; }

  Status OpenEager(std::unique_ptr<Mapping> mapping, const RunnerOptions& options,
                   sink::WriterOptions writer, const std::shared_ptr<gcp::ChannelPool>& pool,
                   const std::function<void(std::string_view)>& warn) {
    sink::EagerWriterParts parts;
    parts.mapper = std::move(mapping);
    parts.handler = Handler(options);
    parts.make_creator = [pool, this, warn]() -> StatusOr<std::unique_ptr<sink::TaskCreator>> {
      return MakeTaskCreator(pool, writing_.steady_clock, warn);
    };
    parts.options = writer;
    parts.host = writing_.host;
    SLUICE_ASSIGN_OR_RETURN(writer_, sink::OpenEagerWriter(std::move(parts)));
    return {};
  }

  Status OpenStaged(std::unique_ptr<Mapping> mapping, sink::StagedCommitterConfig config,
                    const std::shared_ptr<gcp::ChannelPool>& pool, bool is_emulator,
                    const std::function<void(std::string_view)>& warn) {
    mapping_ = mapping.get();
    fill_.tasks_max = config.staged.max_staged_tasks();
    fill_.bytes_max = config.staged.max_staged_bytes();
    const sink::StagedOptions staged = config.staged;
    sink::MakeRetentionReader make_reader;
    if (!is_emulator) {
      make_reader = [pool]() -> StatusOr<std::unique_ptr<sink::QueueRetentionReader>> {
        return MakeRetentionReader(pool);
      };
    }
    SLUICE_ASSIGN_OR_RETURN(committer_, sink::OpenStagedCommitter(
                                            std::move(config), make_reader,
                                            [&]() -> StatusOr<std::unique_ptr<sink::TaskCreator>> {
                                              return MakeTaskCreator(pool, committing_.steady_clock,
                                                                     warn);
                                            },
                                            committing_.host));
    sink::StagedWriterParts parts;
    parts.mapper = std::move(mapping);
    parts.handler = sink::FailJob();
    parts.options = staged;
    parts.host = writing_.host;
    SLUICE_ASSIGN_OR_RETURN(writer_, sink::OpenStagedWriter(std::move(parts)));
    return {};
  }

 private:
  std::unique_ptr<sink::FailedTaskHandler> Handler(const RunnerOptions& options) {
    if (options.failure_policy == "drop") return sink::LogAndDrop();
    if (options.failure_policy == "dead-letter-file") {
      return sink::SendToDeadLetterQueue(MakeDeadLetterFile(
          files_, options.dead_letter_file,
          [this] { return current_ == nullptr ? std::string() : current_->text; }));
    }
    return sink::FailJob();
  }

  env::PosixFileSystem files_;
  Services writing_;
  Services committing_;
  const Mapping* mapping_ = nullptr;  // the staged writer's own: what a task takes of the batch
  const Item* current_ = nullptr;
  BatchFill fill_;
  std::unique_ptr<sink::SinkCommitter> committer_;
  std::unique_ptr<sink::SinkWriter> writer_;
};

template <typename Builder, typename Setter, typename T>
void SetIfGiven(Builder& builder, Setter setter, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_same_v<T, Duration>) {
    (builder.*setter)(absl::ToChronoNanoseconds(*value));
  } else {
    (builder.*setter)(*value);
  }
}

StatusOr<sink::WriterOptions> ToWriterOptions(const SinkOptions& given) {
  using Builder = sink::WriterOptions::Builder;
  Builder builder;
  SetIfGiven(builder, &Builder::set_max_in_flight_tasks, given.max_in_flight);
  SetIfGiven(builder, &Builder::set_channel_pool_size, given.channels);
  SetIfGiven(builder, &Builder::set_recovery_initial_backoff, given.initial_backoff);
  SetIfGiven(builder, &Builder::set_recovery_max_backoff, given.max_backoff);
  SetIfGiven(builder, &Builder::set_recovery_max_attempts, given.max_attempts);
  SetIfGiven(builder, &Builder::set_not_found_recovery_initial_backoff,
             given.not_found_initial_backoff);
  SetIfGiven(builder, &Builder::set_not_found_recovery_max_backoff, given.not_found_max_backoff);
  SetIfGiven(builder, &Builder::set_not_found_recovery_max_attempts, given.not_found_max_attempts);
  SetIfGiven(builder, &Builder::set_per_destination_metrics, given.per_destination_metrics);
  return builder.Build();
}

StatusOr<sink::StagedOptions> ToStagedOptions(const SinkOptions& given) {
  using Builder = sink::StagedOptions::Builder;
  Builder builder;
  SetIfGiven(builder, &Builder::set_name_retention, given.name_retention);
  SetIfGiven(builder, &Builder::set_clock_skew_allowance, given.clock_skew_allowance);
  SetIfGiven(builder, &Builder::set_request_timeout, given.request_timeout);
  SetIfGiven(builder, &Builder::set_max_staged_tasks, given.max_staged_tasks);
  SetIfGiven(builder, &Builder::set_max_staged_bytes, given.max_staged_bytes);
  SetIfGiven(builder, &Builder::set_verify_queue_retention, given.verify_queue_retention);
  if (given.expired_envelope_policy) {
    SLUICE_ASSIGN_OR_RETURN(const sink::ExpiredEnvelopePolicy policy,
                            sink::ParseExpiredEnvelopePolicy(*given.expired_envelope_policy));
    builder.set_expired_envelope_policy(policy);
  }
  return builder.Build();
}

}  // namespace

StatusOr<std::unique_ptr<SinkPort>> MakeTaskSink(const RunnerOptions& options,
                                                 sink::MetricRegistry* metrics,
                                                 std::function<void(std::string_view)> warn) {
  SLUICE_ASSIGN_OR_RETURN(sink::QueueDestination queue,
                          sink::QueueDestination::Parse(options.queue));
  SLUICE_ASSIGN_OR_RETURN(runner::RecordMapper mapper, RecordMapper::Make(options.mapping));
  SLUICE_ASSIGN_OR_RETURN(const sink::WriterOptions writer, ToWriterOptions(options.sink));
  SLUICE_ASSIGN_OR_RETURN(const sink::StagedOptions staged, ToStagedOptions(options.sink));
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<gcp::ChannelPool> pool, MakePool(options));
  auto sink = std::make_unique<TaskSink>(metrics);
  auto mapping = std::make_unique<Mapping>(queue, std::move(mapper));
  if (options.sink.is_exactly_once) {
    SLUICE_RETURN_IF_ERROR(sink->OpenStaged(std::move(mapping),
                                            {.queue = queue, .writer = writer, .staged = staged},
                                            pool, !options.emulator_endpoint.empty(), warn));
  } else {
    SLUICE_RETURN_IF_ERROR(sink->OpenEager(std::move(mapping), options, writer, pool, warn));
  }
  return std::unique_ptr<SinkPort>(std::move(sink));
}

}  // namespace sluice::runner
