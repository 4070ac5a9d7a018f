// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of the exactly-once mode share: a world whose time moves only when
// somebody waits, a creator that answers from a script, records that are strings.

#include <google/cloud/tasks/v2/cloudtasks.pb.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "env/virtual_clock.h"
#include "sluice/sink/host.h"
#include "sluice/sink/record_mapper.h"
#include "sluice/sink/staged/staged_committer.h"
#include "sluice/sink/task_creator.h"

namespace sluice::sink::testing {

namespace pb = google::cloud::tasks::v2;

inline constexpr std::string_view kQueuePath =
    "projects/my-project/locations/asia-northeast1/queues/webhooks";
inline const QueueDestination& Queue() {
  static const QueueDestination queue = *QueueDestination::Parse(kQueuePath);
  return queue;
}

class FakeMonotonicClock : public env::MonotonicClock {
 public:
  [[nodiscard]] env::MonotonicTime Now() const override { return now; }
  env::MonotonicTime now{std::chrono::hours(1)};
};

/// 1, 2, 3, ...: the id of the n-th draw ends in n's digits.
class CountingRandom : public env::Random {
 public:
  [[nodiscard]] std::uint64_t Bits() override {
    ++draws;
    return draws % 2 == 0 ? draws / 2 : 0;
  }
  std::uint64_t draws = 0;
};

/// Both clocks and the mailbox. Waiting first asks `on_idle` for something to happen,
/// and moves time only when nothing did.
struct World : public Mailbox {
  explicit World(std::int64_t now_millis) : wall(absl::FromUnixMillis(now_millis)) {}

  void Advance(std::chrono::milliseconds by) {
    wall.Advance(absl::FromChrono(by));
    mono.now += by;
  }
  void Post(Mail mail) override { mails.push_back(std::move(mail)); }
  bool RunOneUntil(std::optional<env::MonotonicTime> until) override {
    const bool waits = !until.has_value() || *until > mono.now;
    if (mails.empty() && waits && on_idle) on_idle();
    if (!mails.empty()) {
      Mail mail = std::move(mails.front());
      mails.pop_front();
      mail();
      return true;
    }
    SLUICE_CHECK(until.has_value(), "waits for ever");
    if (waits) {
      const auto by = *until - mono.now;
      wall.Advance(absl::FromChrono(by));
      mono.now = *until;
    }
    return false;
  }

  env::VirtualClock wall;
  FakeMonotonicClock mono;
  CountingRandom random;
  MetricRegistry metrics;
  std::deque<Mail> mails;
  std::function<void()> on_idle;
};

/// Services over `world`, which outlives the mailbox pointer inside.
inline HostServices Services(World& world) {
  return {.mailbox = std::shared_ptr<Mailbox>(&world, [](Mailbox*) {}),
          .metrics = &world.metrics,
          .wall_clock = &world.wall,
          .monotonic_clock = &world.mono,
          .random = &world.random};
}

struct Calls {
  struct Call {
    std::string request;
    std::string name;
    std::optional<env::MonotonicTime> deadline;
    CreateDone done;
    int cancelled = 0;
  };
  std::deque<Call> all;  // stable references
  int closed = 0;
  /// The answers of the next calls; without one a call stays under way.
  std::deque<CreateOutcome> answers;
  std::function<void()> on_create;

  void Answer(std::size_t call, CreateOutcome outcome) {
    std::exchange(all.at(call).done, nullptr)(std::move(outcome));
  }
  [[nodiscard]] std::size_t size() const { return all.size(); }
};

inline CreateOutcome Fails(absl::StatusCode code, std::string message = "") {
  return Failure(code, std::move(message));
}
inline CreateOutcome Ok() { return std::nullopt; }

class FakeCreator : public TaskCreator {
 public:
  explicit FakeCreator(Calls& calls) : calls_(calls) {}
  StatusOr<std::unique_ptr<PendingCreate>> Create(const pb::CreateTaskRequest& request,
                                                  std::optional<env::MonotonicTime> deadline,
                                                  CreateDone done) override {
    Calls::Call& call = calls_.all.emplace_back();
    call.request = request.SerializeAsString();
    call.name = request.task().name();
    call.deadline = deadline;
    if (calls_.on_create) calls_.on_create();
    if (calls_.answers.empty()) {
      call.done = std::move(done);
    } else {
      CreateOutcome outcome = std::move(calls_.answers.front());
      calls_.answers.pop_front();
      done(std::move(outcome));
    }
    return std::unique_ptr<PendingCreate>(std::make_unique<Handle>(call));
  }
  Status Close() override {
    ++calls_.closed;
    return {};
  }

 private:
  struct Handle : PendingCreate {
    explicit Handle(Calls::Call& owner) : call(owner) {}
    void Cancel() override { ++call.cancelled; }
    Calls::Call& call;
  };
  Calls& calls_;
};

inline pb::Task HttpTask(std::string_view body) {
  pb::Task task;
  task.mutable_http_request()->set_url("https://handler.example/");
  task.mutable_http_request()->set_http_method(pb::POST);
  task.mutable_http_request()->set_body(std::string(body));
  return task;
}

inline Envelope AnEnvelope(char id, std::int64_t origin, std::int64_t deadline) {
  pb::Task task = HttpTask(std::string("secret-") + id);
  task.set_name(std::string(kQueuePath) + "/tasks/" + std::string(32, id));
  return {.queue = Queue(),
          .origin_millis = origin,
          .deadline_millis = deadline,
          .task = task.SerializeAsString()};
}

/// Records are std::string; every step can be replaced.
class FakeMapper : public RecordMapper {
 public:
  Status Open(const HandlerContext&) override { return opened; }
  StatusOr<const QueueDestination*> Resolve(const AnyRecord&) override { return queue; }
  StatusOr<bool> Serialize(const AnyRecord& record, pb::Task& task) override {
    ++serialized;
    return serialize(*static_cast<const std::string*>(record.value), task);
  }
  [[nodiscard]] bool has_task_ids() const override { return key != nullptr; }
  StatusOr<std::optional<std::string>> TaskKey(const AnyRecord&) override { return key(); }
  [[nodiscard]] const QueueDestination* fixed_queue() const override { return &Queue(); }

  Status opened;
  StatusOr<const QueueDestination*> queue = &Queue();
  std::function<StatusOr<bool>(const std::string&, pb::Task&)> serialize =
      [](const std::string& record, pb::Task& task) -> StatusOr<bool> {
    task = HttpTask(record);
    return true;
  };
  std::function<StatusOr<std::optional<std::string>>()> key;
  int serialized = 0;
};

struct Request : CommitRequest {
  explicit Request(Envelope value) : held(std::move(value)) {}
  [[nodiscard]] const Envelope& envelope() const override { return held; }
  void SignalAlreadyCommitted() override { ++signals; }
  Envelope held;
  int signals = 0;
};

}  // namespace sluice::sink::testing
