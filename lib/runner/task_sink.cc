// SPDX-License-Identifier: Apache-2.0
#include "runner/task_sink.h"

#include <utility>
#include <vector>

#include "env/posix/clock.h"
#include "env/posix/file_system.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "runner/dead_letter_file.h"
#include "runner/record_mapper.h"
#include "runner/sink_settings.h"
#include "sluice/sink/client.h"
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
using Warn = std::function<void(std::string_view)>;

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
                   const sink::SinkSettings& settings, Warn warn) {
    sink::EagerWriterParts parts;
    parts.mapper = std::move(mapping);
    parts.handler = Handler(options);
    parts.make_creator =
        sink::MakeClient(settings, writing_.steady_clock, std::move(warn)).make_creator;
    parts.options = settings.writer_options;
    parts.host = writing_.host;
    SLUICE_ASSIGN_OR_RETURN(writer_, sink::OpenEagerWriter(std::move(parts)));
    return {};
  }

  Status OpenStaged(std::unique_ptr<Mapping> mapping, const sink::SinkSettings& settings,
                    Warn warn) {
    mapping_ = mapping.get();
    const sink::StagedOptions& staged = *settings.staged_options;
    fill_.tasks_max = staged.max_staged_tasks();
    fill_.bytes_max = staged.max_staged_bytes();
    const sink::SinkClient client =
        sink::MakeClient(settings, committing_.steady_clock, std::move(warn));
    SLUICE_ASSIGN_OR_RETURN(
        committer_,
        sink::OpenStagedCommitter(
            {.queue = *mapping->fixed_queue(), .writer = settings.writer_options, .staged = staged},
            client.make_reader, client.make_creator, committing_.host));
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

}  // namespace

StatusOr<std::unique_ptr<SinkPort>> MakeTaskSink(const RunnerOptions& options,
                                                 sink::MetricRegistry* metrics,
                                                 std::function<void(std::string_view)> warn) {
  SLUICE_ASSIGN_OR_RETURN(sink::QueueDestination queue,
                          sink::QueueDestination::Parse(options.queue));
  SLUICE_ASSIGN_OR_RETURN(runner::RecordMapper mapper, RecordMapper::Make(options.mapping));
  SLUICE_ASSIGN_OR_RETURN(const sink::SinkSettings settings, ToSinkSettings(options));
  auto sink = std::make_unique<TaskSink>(metrics);
  auto mapping = std::make_unique<Mapping>(std::move(queue), std::move(mapper));
  SLUICE_RETURN_IF_ERROR(
      options.sink.is_exactly_once
          ? sink->OpenStaged(std::move(mapping), settings, std::move(warn))
          : sink->OpenEager(std::move(mapping), options, settings, std::move(warn)));
  return std::unique_ptr<SinkPort>(std::move(sink));
}

}  // namespace sluice::runner
