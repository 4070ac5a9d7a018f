// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sim/checker.h"
#include "sim/event_loop.h"
#include "sim/random.h"
#include "sim/sim_server.h"

namespace sluice::sim {
namespace {

const Time kStart = absl::FromUnixSeconds(1'800'000'000);
constexpr Duration kChaosTime = absl::Seconds(90);
constexpr Duration kDrainTimeMax = absl::Hours(6);
constexpr Duration kDrainStep = absl::Seconds(20);
constexpr int kQueueCount = 3;
constexpr std::uint64_t kNamePool = 12;  // small, so that names meet
constexpr Duration kAnswerLateMax = absl::Seconds(40);

class Simulation {
 public:
  Simulation(std::uint64_t seed, const SimulationOptions& options)
      : options_(options),
        random_(seed),
        loop_(kStart),
        server_(
            loop_, random_, KnobsOf(random_, options),
            [this](core::StartAttempt attempt) { ServeAttempt(std::move(attempt)); },
            [this](const core::TaskEnded& ended) { checker_.Ended(ended); }) {
    report_.seed = seed;
    fault_gap_max_ = random_.Pick<Duration>(absl::Seconds(40), absl::Seconds(10), absl::Seconds(4));
    target_success_percent_ = random_.Pick<std::uint64_t>(100, 90, 50, 10);
    server_.set_on_death([this] {
      Trace("the process died of its disk");
      Restart(true);
    });
  }

  SimulationReport Run() {
    StartServer();
    for (int i = 0; i < kQueueCount; ++i) CreateQueue(i);
    ScheduleNextCommand();
    ScheduleNextFault();
    const Time chaos_end = kStart + kChaosTime;
    while (is_well() && loop_.RunOne(chaos_end)) ++report_.events;
    if (is_well()) Drain();
    Finish();
    return report_;
  }

 private:
  static ServerKnobs KnobsOf(Random& random, const SimulationOptions& options) {
    ServerKnobs knobs = ServerKnobs::Draw(random);
    knobs.sabotage = options.sabotage;
    return knobs;
  }

  [[nodiscard]] bool is_well() const { return failures_.empty() && checker_.failures().empty(); }

  void Fail(std::string what) { failures_.push_back(std::move(what)); }

  template <typename... Args>
  void Trace(fmt::format_string<Args...> format, Args&&... args) {
    const std::string line = fmt::format(format, std::forward<Args>(args)...);
    const auto at = absl::ToInt64Microseconds(loop_.now() - kStart);
    for (const char c : fmt::format("{} {}\n", at, line)) {
      report_.trace_hash = (report_.trace_hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    }
    if (options_.is_verbose)
      std::printf("%12.6f %s\n", static_cast<double>(at) * 1e-6, line.c_str());
  }

  // --- The operator ---

  void StartServer() {
    const Status status = server_.Start();
    Trace("start: {}", status.ok() ? "ok" : Message(status));
    if (status.ok()) return;
    // A disk that fails during recovery ends the start; the operator tries again.
    if (is_disk_faulty_) {
      is_disk_faulty_ = false;
      Restart(true);
      return;
    }
    Fail(fmt::format("the server does not start: {}", Message(status)));
  }

  void Restart(bool is_power_cut) {
    ++report_.deaths;
    server_.Kill(is_power_cut && is_power_cut_survivable());
    checker_.ServerDied();
    is_disk_faulty_ = false;
    loop_.At(loop_.now() + random_.UpTo(absl::Seconds(2)), [this] {
      if (!server_.is_running() && is_well()) StartServer();
    });
  }

  [[nodiscard]] bool is_power_cut_survivable() const { return server_.is_power_cut_survivable(); }

  void ScheduleNextFault() {
    loop_.At(loop_.now() + random_.UpTo(fault_gap_max_), [this] {
      if (loop_.now() - kStart > kChaosTime * 0.8) return;
      if (server_.is_running()) InjectFault();
      ScheduleNextFault();
    });
  }

  void InjectFault() {
    switch (random_.Below(is_power_cut_survivable() ? 5 : 2)) {
      case 0:
      case 1:
        Trace("kill");
        Restart(false);
        return;
      case 2:
        Trace("power cut");
        Restart(true);
        return;
      case 3:
        Trace("power cut inside a coming disk operation");
        is_disk_faulty_ = true;
        server_.ArmPowerCut(30);
        return;
      default:
        Trace("disk fault");
        is_disk_faulty_ = true;
        server_.ArmDiskFault(random_.Pick(env::SimOperation::kWrite, env::SimOperation::kSyncData),
                             20);
        return;
    }
  }

  // --- Clients ---

  static QueueName NameOf(const std::string& queue) { return {{"p", "l"}, queue}; }

  std::string AnyQueue() { return fmt::format("q{}", random_.Below(kQueueCount)); }

  std::string AnyTaskId() {
    if (!known_ids_.empty() && random_.OneIn(2)) {
      return known_ids_[random_.Below(known_ids_.size())];
    }
    return fmt::format("n{}", random_.Below(kNamePool));
  }

  // Submits when the server is up; the answer is traced and given to `then`.
  void Send(const std::string& what, engine::Command command,
            std::function<void(const engine::Reply&)> then) {
    if (!server_.is_running()) return;
    ++report_.commands;
    Trace("-> {}", what);
    server_.Submit(std::move(command), [this, what, then](const engine::Reply& reply) {
      Trace("<- {}: {}", what, reply.ok() ? "ok" : Message(reply.status()));
      then(reply);
    });
  }

  core::QueuePatch AnySettings() {
    core::QueuePatch patch;
    patch.max_dispatches_per_second = random_.Pick<double>(0.5, 2, 10, 500);
    patch.max_burst_size = random_.Pick(1, 3, 10, 100);
    patch.max_concurrent_dispatches = random_.Pick(1, 2, 5, 1000);
    patch.max_attempts = random_.Pick(-1, -1, 100, 12, 4);
    patch.max_retry_duration =
        random_.OneIn(6) ? absl::Seconds(random_.Between(1, 20)) : absl::ZeroDuration();
    patch.min_backoff = absl::Milliseconds(random_.Pick(1, 50, 700));
    patch.max_backoff = absl::Seconds(random_.Between(1, 8));
    patch.max_doublings = random_.Pick(0, 1, 3, 16);
    patch.tombstone_ttl = absl::Hours(1);
    if (random_.OneIn(3)) patch.tombstone_ttl = absl::Seconds(random_.Between(1, 20));
    if (random_.OneIn(5)) patch.task_ttl = absl::Seconds(random_.Between(20, 100));
    return patch;
  }

  void TellSettings(const std::string& queue, const core::QueuePatch& patch) {
    core::QueueConfig c;
    c.rate = {*patch.max_dispatches_per_second, *patch.max_burst_size,
              *patch.max_concurrent_dispatches};
    c.retry = {*patch.max_attempts, *patch.max_retry_duration, *patch.min_backoff,
               *patch.max_backoff, *patch.max_doublings};
    c.task_ttl = patch.task_ttl.value_or(core::kTaskTtlDefault);
    c.tombstone_ttl = *patch.tombstone_ttl;
    checker_.QueueSettings(queue, c);
  }

  void CreateQueue(int index) {
    const std::string queue = fmt::format("q{}", index);
    const core::QueuePatch settings = AnySettings();
    TellSettings(queue, settings);
    Send("create queue " + queue, engine::CreateQueue{NameOf(queue), settings},
         [](const engine::Reply&) {});
  }

  void ScheduleNextCommand() {
    loop_.At(
        loop_.now() + random_.UpTo(random_.OneIn(20) ? absl::Seconds(3) : absl::Milliseconds(300)),
        [this] {
          AnyCommand();
          ScheduleNextCommand();
        });
  }

  void AnyCommand() {
    if (loop_.now() - kStart > kChaosTime) return;
    const std::uint64_t dice = random_.Below(100);
    if (dice < 55) return CreateTask();
    if (dice < 63) return DeleteTask();
    if (dice < 71) return GetTask();
    if (dice < 76) return RunTask();
    if (dice < 82) return List();
    if (dice < 85) return Pause();
    if (dice < 91) return Resume(AnyQueue());
    if (dice < 93) return Purge();
    if (dice < 95) return Explain();
    if (dice < 97) return Reconfigure();
    if (dice < 98) return DeleteQueue();
    return CreateQueue(static_cast<int>(random_.Below(kQueueCount)));
  }

  void CreateTask() {
    const std::string queue = AnyQueue();
    core::NewTask task;
    const bool is_named = random_.OneIn(2);
    if (is_named) task.task_id = fmt::format("n{}", random_.Below(kNamePool));
    task.request.url = "http://target/";
    task.request.body.assign(random_.Pick<std::size_t>(0, 20, 700), 'x');
    if (random_.OneIn(2)) task.schedule_time = loop_.now() + random_.UpTo(absl::Seconds(60));
    if (random_.OneIn(8)) {
      task.retry = core::RetryConfig{};
      task.retry->max_attempts = random_.Pick(-1, 30);
    }
    task.dispatch_deadline = absl::Seconds(15);
    const Time issued = loop_.now();
    if (is_named) checker_.CreateIssued(queue, task.task_id);
    const std::string what = fmt::format("create task {}/{}", queue, task.task_id);
    Send(what, engine::CreateTask{NameOf(queue), task},
         [this, queue, issued, is_named, id = task.task_id](const engine::Reply& reply) {
           if (!reply.ok()) {
             if (absl::IsAlreadyExists(reply.status())) {
               checker_.CreateRefusedAsDuplicate(queue, id);
             }
             return;
           }
           const auto& created = std::get<core::Task>(*reply);
           Trace("   sequence {}", created.body->sequence);
           if (!is_named) known_ids_.push_back(created.body->task_id);
           checker_.CreateAcknowledged(queue, created, is_named, issued, loop_.now());
         });
  }

  void DeleteTask() {
    const std::string queue = AnyQueue();
    const std::string id = AnyTaskId();
    if (!server_.is_running()) return;
    const Time issued = loop_.now();
    checker_.DeleteIssued(queue, id, issued);
    Send(fmt::format("delete task {}/{}", queue, id),
         engine::DeleteTask{TaskName{NameOf(queue), id}},
         [this, queue, id, issued](const engine::Reply& reply) {
           checker_.DeleteFinished(queue, id, issued, reply.ok(), loop_.now());
         });
  }

  void GetTask() {
    const std::string queue = AnyQueue();
    const std::string id = AnyTaskId();
    const Time issued = loop_.now();
    Send(fmt::format("get task {}/{}", queue, id), engine::GetTask{TaskName{NameOf(queue), id}},
         [this, queue, id, issued](const engine::Reply& reply) {
           if (absl::IsNotFound(reply.status())) {
             checker_.NotFound(queue, id, issued, loop_.now());
           }
         });
  }

  void RunTask() {
    const std::string queue = AnyQueue();
    const std::string id = AnyTaskId();
    if (!server_.is_running()) return;
    checker_.RunIssued(queue, id);
    Send(fmt::format("run task {}/{}", queue, id), engine::RunTask{TaskName{NameOf(queue), id}},
         [](const engine::Reply&) {});
  }

  void Explain() {
    const std::string queue = AnyQueue();
    const std::string id = AnyTaskId();
    Send(fmt::format("explain task {}/{}", queue, id),
         engine::ExplainTask{TaskName{NameOf(queue), id}}, [this, id](const engine::Reply& reply) {
           if (!reply.ok()) return;
           if (std::get<core::Explanation>(*reply).waits.empty()) {
             Fail(fmt::format("task {} waits, but for nothing", id));
           }
         });
  }

  void List() {
    ListPage(AnyQueue(), 0, loop_.now(), std::make_shared<std::set<core::Sequence>>());
  }

  void ListPage(const std::string& queue, core::Sequence after, Time issued,
                std::shared_ptr<std::set<core::Sequence>> seen) {
    const std::size_t count = random_.Pick<std::size_t>(1, 3, 1000);
    Send(fmt::format("list {} after {}", queue, after),
         engine::ListTasks{NameOf(queue), after, count},
         [this, queue, issued, seen](const engine::Reply& reply) {
           if (!reply.ok()) return;
           const auto& page = std::get<engine::TaskPage>(*reply);
           for (const core::Task& task : page.tasks) {
             if (!seen->insert(task.body->sequence).second) {
               Fail(fmt::format("sequence {} is listed twice", task.body->sequence));
             }
           }
           if (page.next_after == 0) {
             checker_.Listed(queue, *seen, issued, loop_.now());
           } else {
             // Later, so that the lane is not entered from its own reply.
             loop_.At(loop_.now(), [this, queue, after = page.next_after, issued, seen] {
               ListPage(queue, after, issued, seen);
             });
           }
         });
  }

  void Pause() {
    const std::string queue = AnyQueue();
    Send("pause " + queue, engine::PauseQueue{NameOf(queue)},
         [this, queue, resumes = resumes_](const engine::Reply& reply) {
           if (reply.ok() && resumes == resumes_) checker_.PauseAcknowledged(queue);
         });
  }

  void Resume(const std::string& queue) {
    if (!server_.is_running()) return;
    ++resumes_;
    checker_.ResumeIssued(queue);
    Send("resume " + queue, engine::ResumeQueue{NameOf(queue)}, [](const engine::Reply&) {});
  }

  void Purge() {
    const std::string queue = AnyQueue();
    if (!server_.is_running()) return;
    checker_.WipeIssued(queue, loop_.now());
    Send("purge " + queue, engine::PurgeQueue{NameOf(queue)}, [](const engine::Reply&) {});
  }

  void DeleteQueue() {
    const std::string queue = AnyQueue();
    if (!server_.is_running()) return;
    checker_.WipeIssued(queue, loop_.now());
    checker_.ResumeIssued(queue);  // a queue created anew runs
    checker_.QueueDeleted(queue);
    ++resumes_;
    Send("delete queue " + queue, engine::DeleteQueue{NameOf(queue)},
         // Attempts of the old queue may have left until here.
         [this, queue](const engine::Reply&) { checker_.QueueDeleted(queue); });
  }

  void Reconfigure() {
    const std::string queue = AnyQueue();
    if (!server_.is_running()) return;
    const core::QueuePatch patch = AnySettings();
    TellSettings(queue, patch);
    Send("update queue " + queue, engine::UpdateQueue{NameOf(queue), patch},
         [](const engine::Reply&) {});
  }

  // --- The target ---

  void ServeAttempt(core::StartAttempt attempt) {
    Trace("attempt {} of {}/{}", attempt.task.progress.dispatch_count, attempt.queue.queue_id,
          attempt.task.body->task_id);
    checker_.AttemptLeft(attempt, loop_.now());
    const std::uint64_t life = loop_.life();
    const bool is_success = is_draining_ || random_.Below(100) < target_success_percent_;
    core::AttemptOutcome outcome;
    Duration after = random_.UpTo(absl::Milliseconds(200));
    if (is_success) {
      outcome.http_status = random_.Pick(200, 204, 299);
    } else {
      switch (random_.Below(4)) {
        case 0:  // hangs until the deadline
          outcome.kind = core::AttemptOutcome::Kind::kTimedOut;
          after = attempt.task.body->dispatch_deadline;
          break;
        case 1:
          outcome.kind = core::AttemptOutcome::Kind::kConnectionFailed;
          break;
        default:
          outcome.http_status = random_.Pick(302, 404, 429, 500, 503);
          if ((outcome.http_status == 429 || outcome.http_status == 503) && random_.OneIn(3))
            outcome.retry_after = random_.UpTo(absl::Seconds(60));
      }
    }
    if (!is_draining_ && random_.OneIn(10)) after = random_.UpTo(kAnswerLateMax);
    const int answers = random_.OneIn(20) ? 2 : 1;
    for (int i = 0; i < answers; ++i) {
      loop_.At(loop_.now() + after + i * random_.UpTo(absl::Seconds(1)),
               [this, life, attempt, outcome, is_success, is_first = i == 0] {
                 if (life != loop_.life() || !server_.is_running()) return;
                 Trace("outcome of {}/{}: {}", attempt.queue.queue_id, attempt.task.body->task_id,
                       outcome.http_status);
                 if (is_first) checker_.OutcomeArrived(attempt, outcome, is_success, loop_.now());
                 server_.FinishAttempt(life, attempt.id, outcome);
               });
    }
  }

  // --- The end ---

  void Drain() {
    Trace("faults stop");
    is_draining_ = true;
    if (is_disk_faulty_) Restart(true);
    const Time drain_end = loop_.now() + kDrainTimeMax;
    bool is_drained = false;
    while (is_well() && !is_drained && loop_.now() < drain_end) {
      for (int i = 0; i < kQueueCount; ++i) Resume(fmt::format("q{}", i));
      const Time until = loop_.now() + kDrainStep;
      while (is_well() && loop_.RunOne(until)) ++report_.events;
      is_drained = server_.is_running() && CountTasks() == 0;
    }
    if (!is_well()) return;
    if (!is_drained) {
      Fail(fmt::format("{} tasks are still there {} after the faults stopped", CountTasks(),
                       absl::FormatDuration(kDrainTimeMax)));
      return;
    }
    ExpectEmptyListings();
    checker_.Drained(loop_.now());
  }

  // By the server's own count, for all queues.
  std::uint64_t CountTasks() {
    std::optional<std::uint64_t> count;
    Send("count", engine::CollectStats{}, [&count](const engine::Reply& reply) {
      count = 0;
      for (const engine::NamedStats& q : std::get<std::vector<engine::NamedStats>>(*reply)) {
        *count += q.stats.task_count;
      }
    });
    const Time until = loop_.now() + absl::Seconds(5);
    while (!count && loop_.RunOne(until)) ++report_.events;
    if (!count) Fail("a drained server does not answer");
    return count.value_or(0);
  }

  void ExpectEmptyListings() {
    for (int i = 0; i < kQueueCount && is_well(); ++i) {
      bool is_answered = false;
      const std::string queue = fmt::format("q{}", i);
      Send("list " + queue, engine::ListTasks{NameOf(queue), 0, 10},
           [this, queue, &is_answered](const engine::Reply& reply) {
             is_answered = true;
             if (!reply.ok()) return;  // the queue was deleted
             const auto& page = std::get<engine::TaskPage>(*reply);
             if (!page.tasks.empty()) {
               Fail(fmt::format("{} counts no task but lists sequence {}", queue,
                                page.tasks.front().body->sequence));
             }
           });
      const Time until = loop_.now() + absl::Seconds(5);
      while (!is_answered && loop_.RunOne(until)) ++report_.events;
      if (!is_answered) Fail("a listing is not answered");
    }
  }

  void Finish() {
    report_.failures = failures_;
    report_.failures.insert(report_.failures.end(), checker_.failures().begin(),
                            checker_.failures().end());
    for (const std::string& failure : report_.failures) Trace("FAILURE: {}", failure);
    report_.attempts = checker_.attempts();
    report_.creates_acknowledged = checker_.acknowledged();
    report_.cold_reads = server_.cold_commands();
  }

  const SimulationOptions options_;
  SimulationReport report_;
  Random random_;
  EventLoop loop_;
  Checker checker_;
  SimServer server_;
  std::uint64_t target_success_percent_ = 100;
  Duration fault_gap_max_;
  bool is_draining_ = false;
  bool is_disk_faulty_ = false;
  std::uint64_t resumes_ = 0;  // issued so far, so that a late pause is not believed
  std::vector<std::string> known_ids_;
  std::vector<std::string> failures_;
};

}  // namespace

SimulationReport RunSimulation(std::uint64_t seed, const SimulationOptions& options) {
  return Simulation(seed, options).Run();
}

}  // namespace sluice::sim
