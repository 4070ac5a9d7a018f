// SPDX-License-Identifier: Apache-2.0
#pragma once

// A writer in a world without threads: answers come from a script, time moves when the
// mailbox would wait, and records are strings.
//
// Threading: one thread.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../eager_writer.h"
#include "env/posix/clock.h"
#include "fails_with.h"

namespace sluice::sink::testing {

using Task = google::cloud::tasks::v2::Task;
using Request = google::cloud::tasks::v2::CreateTaskRequest;

inline QueueDestination QueueNamed(std::string_view id) {
  return *QueueDestination::Of("my-project", "asia-northeast1", id);
}

class ManualClock : public env::MonotonicClock {
 public:
  [[nodiscard]] env::MonotonicTime Now() const override { return now; }
  env::MonotonicTime now{std::chrono::hours(1)};
};

class SeededRandom : public env::Random {
 public:
  std::uint64_t Bits() override { return engine_(); }

 private:
  std::mt19937_64 engine_{7};
};

/// Waiting moves the clock; waiting for nothing at all would hang, so it aborts.
class ManualMailbox : public Mailbox {
 public:
  explicit ManualMailbox(ManualClock& clock) : clock_(clock) {}
  void Post(Mail mail) override { mails_.push_back(std::move(mail)); }
  bool RunOneUntil(std::optional<env::MonotonicTime> until) override {
    if (mails_.empty()) {
      SLUICE_CHECK(until.has_value(), "the writer waits for a mail that never comes");
      if (*until > clock_.now) {
        slept += *until - clock_.now;
        clock_.now = *until;
      }
      return false;
    }
    Mail mail = std::move(mails_.front());
    mails_.pop_front();
    mail();
    return true;
  }
  /// Runs what has arrived.
  void RunAll() {
    while (!mails_.empty()) RunOneUntil(clock_.now);
  }
  std::chrono::nanoseconds slept{0};

 private:
  ManualClock& clock_;
  std::deque<Mail> mails_;
};

/// What a test keeps of the creator; the writer owns the creator itself.
struct CreatorScript {
  struct Answer {
    enum class Kind { kDone, kPending, kThrow } kind = Kind::kDone;
    CreateOutcome outcome;
  };
  std::deque<Answer> answers;  // success when empty
  std::vector<Request> requests;
  std::vector<CreateDone> pending;
  int closed = 0;
  Status close_status;

  void Fail(absl::StatusCode code, std::string message = "scripted") {
    Fail(Failure(code, std::move(message)));
  }
  void Fail(Failure failure) { answers.push_back({Answer::Kind::kDone, std::move(failure)}); }
  void Succeed() { answers.push_back({Answer::Kind::kDone, std::nullopt}); }
  void Hold() { answers.push_back({Answer::Kind::kPending, std::nullopt}); }
  void Throw() { answers.push_back({Answer::Kind::kThrow, std::nullopt}); }
};

class ScriptedCreator : public TaskCreator {
 public:
  explicit ScriptedCreator(std::shared_ptr<CreatorScript> script) : script_(std::move(script)) {}
  StatusOr<std::unique_ptr<PendingCreate>> Create(const Request& request,
                                                  std::optional<env::MonotonicTime>,
                                                  CreateDone done) override {
    using Kind = CreatorScript::Answer::Kind;
    CreatorScript::Answer answer;
    if (!script_->answers.empty()) {
      answer = std::move(script_->answers.front());
      script_->answers.pop_front();
    }
    if (answer.kind == Kind::kThrow) return Internal("no channel");
    script_->requests.push_back(request);
    if (answer.kind == Kind::kPending) {
      script_->pending.push_back(std::move(done));
    } else {
      done(std::move(answer.outcome));
    }
    return nullptr;
  }
  Status Close() override {
    ++script_->closed;
    return script_->close_status;
  }

 private:
  std::shared_ptr<CreatorScript> script_;
};

/// A record is its body; the functions say the rest. They may be replaced by a test.
struct MapperScript {
  Status open;
  std::function<std::optional<QueueDestination>(const std::string&)> resolve =
      [](const std::string&) { return QueueNamed("webhooks"); };
  std::function<StatusOr<bool>(const std::string&, Task&)> serialize = [](const std::string& record,
                                                                          Task& task) {
    task.mutable_http_request()->set_url("https://worker.example/x");
    task.mutable_http_request()->set_body(record);
    return true;
  };
  std::function<StatusOr<std::optional<std::string>>(const std::string&)> key;  // unset: unnamed
};

class ScriptedMapper : public RecordMapper {
 public:
  explicit ScriptedMapper(MapperScript script) : script_(std::move(script)) {}
  Status Open(const HandlerContext&) override { return script_.open; }
  StatusOr<const QueueDestination*> Resolve(const AnyRecord& record) override {
    queue_ = script_.resolve(Text(record));
    return queue_ ? &*queue_ : nullptr;
  }
  StatusOr<bool> Serialize(const AnyRecord& record, Task& task) override {
    return script_.serialize(Text(record), task);
  }
  [[nodiscard]] bool has_task_ids() const override { return script_.key != nullptr; }
  StatusOr<std::optional<std::string>> TaskKey(const AnyRecord& record) override {
    return script_.key(Text(record));
  }
  [[nodiscard]] const QueueDestination* fixed_queue() const override { return nullptr; }

 private:
  static const std::string& Text(const AnyRecord& record) {
    return *static_cast<const std::string*>(record.value);
  }
  MapperScript script_;
  std::optional<QueueDestination> queue_;
};

/// What a handler was told; `answer` is what it says to each element.
struct HandlerLog {
  struct Element {
    std::string queue;
    std::optional<Task> task;
    std::string message;
    std::optional<Failure> cause;
  };
  std::vector<std::string> calls;
  std::vector<Element> elements;
  HandlerContext context;
  Status open;
  Status answer;
};

class RecordingHandler : public FailedTaskHandler {
 public:
  explicit RecordingHandler(std::shared_ptr<HandlerLog> log) : log_(std::move(log)) {}
  Status Open(const HandlerContext& context) override {
    log_->calls.emplace_back("open");
    log_->context = context;
    return log_->open;
  }
  Status Handle(const FailedTask& failed) override {
    log_->calls.emplace_back("handle");
    log_->elements.push_back({failed.destination_text(),
                              failed.task() ? std::optional<Task>(*failed.task()) : std::nullopt,
                              failed.message(), failed.cause()});
    return log_->answer;
  }
  Status Flush() override {
    log_->calls.emplace_back("flush");
    return {};
  }
  Status Close() override {
    log_->calls.emplace_back("close");
    return {};
  }

 private:
  std::shared_ptr<HandlerLog> log_;
};

class WriterHarness {
 public:
  MapperScript mapper;
  WriterOptions::Builder options;
  std::unique_ptr<FailedTaskHandler> handler = FailJob();
  std::shared_ptr<HandlerLog> log = std::make_shared<HandlerLog>();
  std::shared_ptr<CreatorScript> creator = std::make_shared<CreatorScript>();
  ManualClock clock;
  std::shared_ptr<ManualMailbox> mailbox = std::make_shared<ManualMailbox>(clock);
  MetricRegistry metrics;
  SeededRandom random;
  env::SystemClock wall;
  std::unique_ptr<EagerWriter> writer;

  void Record() { handler = std::make_unique<RecordingHandler>(log); }
  void HashKeys() {
    mapper.key = [](const std::string& record) -> StatusOr<std::optional<std::string>> {
      return std::optional<std::string>(record);
    };
  }
  HostServices Host(int subtask = 0) {
    return {mailbox, &metrics, &wall, &clock, &random, subtask};
  }
  void Start() {
    writer = std::make_unique<EagerWriter>(
        std::make_unique<ScriptedMapper>(mapper), std::move(handler),
        std::make_unique<ScriptedCreator>(creator), *options.Build(), Host());
  }
  Status Write(const std::string& record) {
    if (!writer) Start();
    return writer->Write({.value = &record, .context = {}});
  }
  Status Flush() { return writer->Flush(false); }
  void Answer(std::size_t index, CreateOutcome outcome) {
    creator->pending[index](std::move(outcome));
  }
  std::int64_t Metric(std::string_view name) { return metrics.Sample(name).value_or(-1); }
  [[nodiscard]] std::size_t sent() const { return creator->requests.size(); }
};

}  // namespace sluice::sink::testing
