// SPDX-License-Identifier: Apache-2.0
#include "sim/sink_simulation.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "env/virtual_clock.h"
#include "sim/random.h"
#include "sim/sink_service.h"
#include "sluice/sink/eager_writer.h"
#include "sluice/sink/staged/committable_collector.h"
#include "sluice/sink/staged/staged_committer.h"
#include "sluice/sink/staged/staged_writer.h"

namespace sluice::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNameRetention = 600 * kSecond;
constexpr std::int64_t kSkewAllowance = 60 * kSecond;
constexpr std::int64_t kWallStart = 1'700'000'000 * kSecond;
constexpr int kRestartsMax = 40;
constexpr int kRestartsHopeless = 400;

const sink::QueueDestination& Queue() {
  static const sink::QueueDestination kQueue = *sink::QueueDestination::Of("p", "l", "q");
  return kQueue;
}

class SinkRandom : public env::Random {
 public:
  explicit SinkRandom(sim::Random& random) : random_(random) {}
  [[nodiscard]] std::uint64_t Bits() override { return random_.Bits(); }

 private:
  sim::Random& random_;
};

/// All time of a run: the service's, the machine's steady one, and a wall clock that
/// is off by `skew`. Waiting for mail is what moves it; a process may die meanwhile.
class World : public sink::Mailbox, public env::MonotonicClock {
 public:
  World(Random& random, bool beyond_allowance)
      : service(random, kNameRetention),
        wall(FromMicros(kWallStart)),
        random_(random),
        beyond_allowance_(beyond_allowance) {}

  [[nodiscard]] env::MonotonicTime Now() const override {
    return env::MonotonicTime(std::chrono::microseconds(service.now()));
  }
  void MoveTo(std::int64_t time_us) {
    service.AdvanceTo(time_us);
    wall.Set(FromMicros(kWallStart + service.now() + skew_us_));
  }
  void Pass(std::int64_t by_us) { MoveTo(service.now() + by_us); }
  /// Two readings differ by at most the allowance, or by far more.
  void JumpWallClock() {
    const std::int64_t reach = beyond_allowance_ ? 3 * kNameRetention : kSkewAllowance / 2;
    skew_us_ = random_.Between(-reach, reach);
    MoveTo(service.now());
  }

  void StartProcess(std::int64_t lives_us) {
    mails_.clear();
    link = std::make_shared<SinkService::Link>();
    dies_at_ = service.now() + lives_us;
  }
  /// Whether the process is dead, killing it when its time has come.
  bool IsDead() {
    if (link->is_alive && service.now() >= dies_at_) link->Kill();
    return !link->is_alive;
  }
  void Die() {
    dies_at_ = service.now();
    IsDead();
  }

  void Post(Mail mail) override { mails_.push_back(std::move(mail)); }
  bool RunOneUntil(std::optional<env::MonotonicTime> until) override {
    const std::int64_t end = until.has_value()
                                 ? std::chrono::duration_cast<std::chrono::microseconds>(
                                       std::max(*until, Now()).time_since_epoch())
                                       .count()
                                 : INT64_MAX;
    while (mails_.empty() && service.now() < end) {
      std::int64_t next = end;
      if (service.next_event() >= 0) next = std::min(next, service.next_event());
      if (link->is_alive) next = std::min(next, std::max(dies_at_, service.now()));
      SLUICE_CHECK(next != INT64_MAX, "the simulated sink waits for ever");
      MoveTo(next);
      IsDead();
    }
    if (mails_.empty()) return false;
    Mail mail = std::move(mails_.front());
    mails_.pop_front();
    mail();
    return true;
  }

  SinkService service;
  env::VirtualClock wall;
  std::shared_ptr<SinkService::Link> link;

 private:
  Random& random_;
  const bool beyond_allowance_;
  std::int64_t skew_us_ = 0;
  std::int64_t dies_at_ = 0;
  std::deque<Mail> mails_;
};

std::string BodyOf(std::int64_t record) { return "record-" + std::to_string(record); }

class Mapper : public sink::RecordMapper {
 public:
  explicit Mapper(bool has_keys) : has_keys_(has_keys) {}
  Status Open(const sink::HandlerContext&) override { return {}; }
  StatusOr<const sink::QueueDestination*> Resolve(const sink::AnyRecord&) override {
    return &Queue();
  }
  StatusOr<bool> Serialize(const sink::AnyRecord& record,
                           google::cloud::tasks::v2::Task& task) override {
    task.mutable_http_request()->set_url("https://handler.example/");
    task.mutable_http_request()->set_http_method(google::cloud::tasks::v2::POST);
    task.mutable_http_request()->set_body(Body(record));
    return true;
  }
  [[nodiscard]] bool has_task_ids() const override { return has_keys_; }
  StatusOr<std::optional<std::string>> TaskKey(const sink::AnyRecord& record) override {
    return Body(record);
  }
  [[nodiscard]] const sink::QueueDestination* fixed_queue() const override { return &Queue(); }

 private:
  static std::string Body(const sink::AnyRecord& record) {
    return BodyOf(*static_cast<const std::int64_t*>(record.value));
  }
  const bool has_keys_;
};

/// What survives the process.
struct Durable {
  std::int64_t checkpoint = 0;
  std::int64_t next_record = 0;
  std::string state;
};

class SinkRun {
 public:
  SinkRun(std::uint64_t seed, const SinkSimulationOptions& options)
      : random_(seed),
        options_(options),
        is_staged_(options.sabotage == SinkSabotage::kNone
                       ? !random_.OneIn(3)
                       : options.sabotage != SinkSabotage::kSkipFlush),
        beyond_allowance_(options.sabotage == SinkSabotage::kNone && random_.OneIn(5)),
        has_keys_(options.sabotage == SinkSabotage::kNone && random_.OneIn(4)),
        policy_(random_.Pick(
            sink::ExpiredEnvelopePolicy::kFail, sink::ExpiredEnvelopePolicy::kAssumeCommitted,
            sink::ExpiredEnvelopePolicy::kCreateAnyway, sink::ExpiredEnvelopePolicy::kDrop)),
        records_(random_.Between(20, 200)),
        sink_random_(random_),
        world_(random_, beyond_allowance_) {}

  SinkSimulationReport Run();

 private:
  /// One process from its start to its end: OK when all input is created.
  Status RunProcess();
  Status RunToTheEnd();
  Status Checkpoint(bool end_of_input);
  Status Open();
  void Check();
  void Fail(std::string what) { report_.failures.push_back(std::move(what)); }
  void Say(std::string_view what) const {
    if (!options_.is_verbose) return;
    std::printf("%12.6f %.*s\n", static_cast<double>(world_.service.now()) / kSecond,
                static_cast<int>(what.size()), what.data());
  }
  [[nodiscard]] bool Sabotages(SinkSabotage rule) const { return options_.sabotage == rule; }

  Random random_;
  const SinkSimulationOptions options_;
  const bool is_staged_;
  const bool beyond_allowance_;
  const bool has_keys_;
  const sink::ExpiredEnvelopePolicy policy_;
  const std::int64_t records_;
  SinkRandom sink_random_;
  World world_;
  Durable durable_;
  SinkSimulationReport report_;
  std::int64_t undecided_ = 0;   // envelopes left by the policy that fails
  std::int64_t given_up_ = 0;    // assumed or dropped
  std::int64_t authorized_ = 0;  // created after their deadline

  // The process.
  std::unique_ptr<sink::MetricRegistry> metrics_;
  std::unique_ptr<sink::SinkWriter> writer_;
  std::unique_ptr<sink::SinkCommitter> committer_;
  std::unique_ptr<sink::CommittableCollector> collector_;
  std::int64_t checkpoint_ = 0;
  std::int64_t next_record_ = 0;
};

Status SinkRun::Open() {
  committer_.reset();
  writer_.reset();
  collector_.reset();
  metrics_ = std::make_unique<sink::MetricRegistry>();
  const sink::HostServices host{
      .mailbox = std::shared_ptr<sink::Mailbox>(&world_, [](sink::Mailbox*) {}),
      .metrics = metrics_.get(),
      .wall_clock = &world_.wall,
      .monotonic_clock = &world_,
      .random = &sink_random_};
  const auto writer = *sink::WriterOptions::Builder().set_max_in_flight_tasks(8).Build();
  world_.link->renames_retries = Sabotages(SinkSabotage::kRenameOnRetry);
  if (!is_staged_) {
    SLUICE_ASSIGN_OR_RETURN(
        writer_, sink::OpenEagerWriter(
                     {.mapper = std::make_unique<Mapper>(has_keys_),
                      .handler = sink::FailJob(),
                      .make_creator = [this]() -> StatusOr<std::unique_ptr<sink::TaskCreator>> {
                        return world_.service.Connect(world_, world_.link);
                      },
                      .options = writer,
                      .host = host}));
    return {};
  }
  const auto staged =
      *sink::StagedOptions::Builder()
           .set_name_retention(std::chrono::microseconds(kNameRetention))
           .set_clock_skew_allowance(std::chrono::microseconds(kSkewAllowance))
           .set_request_timeout(std::chrono::seconds(5))
           .set_expired_envelope_policy(Sabotages(SinkSabotage::kIgnoreDeadline)
                                            ? sink::ExpiredEnvelopePolicy::kCreateAnyway
                                            : policy_)
           .Build();
  SLUICE_ASSIGN_OR_RETURN(writer_,
                          sink::OpenStagedWriter({.mapper = std::make_unique<Mapper>(has_keys_),
                                                  .handler = sink::FailJob(),
                                                  .options = staged,
                                                  .host = host}));
  committer_ = sink::MakeStagedCommitter({.queue = Queue(), .writer = writer, .staged = staged},
                                         world_.service.Connect(world_, world_.link), host);
  collector_ = std::make_unique<sink::CommittableCollector>(*metrics_);
  if (!durable_.state.empty() && !Sabotages(SinkSabotage::kForgetPending)) {
    SLUICE_RETURN_IF_ERROR(collector_->Restore({durable_.state}));
  }
  return collector_->Initialize(*committer_);
}

Status SinkRun::Checkpoint(bool end_of_input) {
  if (!Sabotages(SinkSabotage::kSkipFlush)) {
    SLUICE_RETURN_IF_ERROR(writer_->Flush(end_of_input));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<sink::Envelope> batch, writer_->PrepareCommit());
  if (world_.IsDead()) return Internal("dead before the checkpoint");
  Durable next{.checkpoint = ++checkpoint_, .next_record = next_record_, .state = ""};
  if (is_staged_) {
    collector_->Add(checkpoint_, std::move(batch));
    SLUICE_ASSIGN_OR_RETURN(next.state, collector_->Snapshot());
    if (Sabotages(SinkSabotage::kCommitBeforeDurable)) {
      SLUICE_RETURN_IF_ERROR(collector_->CommitUpTo(checkpoint_, *committer_));
    }
  }
  if (!end_of_input && random_.OneIn(6)) {
    Say("checkpoint fails");
    return {};
  }
  if (world_.IsDead() || random_.OneIn(20)) {
    world_.Die();
    return Internal("dead at the checkpoint");
  }
  durable_ = std::move(next);
  Say(fmt::format("checkpoint {} at record {}", durable_.checkpoint, durable_.next_record));
  if (random_.OneIn(20)) {
    world_.Die();
    return Internal("dead before the commit");
  }
  return is_staged_ ? collector_->CommitUpTo(checkpoint_, *committer_) : Status();
}

Status SinkRun::RunToTheEnd() {
  SLUICE_RETURN_IF_ERROR(Open());
  while (next_record_ < records_) {
    for (std::int64_t n = random_.Between(1, 15); n > 0 && next_record_ < records_; --n) {
      SLUICE_RETURN_IF_ERROR(writer_->Write({.value = &next_record_}));
      ++next_record_;
      world_.Pass(random_.Between(0, 100'000));
      if (world_.IsDead()) return Internal("dead while reading");
    }
    if (random_.OneIn(8)) world_.JumpWallClock();
    SLUICE_RETURN_IF_ERROR(Checkpoint(false));
  }
  return Checkpoint(true);
}

Status SinkRun::RunProcess() {
  world_.StartProcess(random_.OneIn(4) ? random_.Between(0, 2 * kSecond)
                                       : random_.Between(0, 60 * kSecond));
  checkpoint_ = durable_.checkpoint;
  next_record_ = durable_.next_record;
  Status end = RunToTheEnd();
  Say(end.ToString());
  if (is_staged_ && metrics_ != nullptr) {
    const auto count = [this](std::string_view name) { return metrics_->Sample(name).value_or(0); };
    if (count("expiredEnvelopesFailed") > 0) undecided_ = collector_->pending();
    given_up_ += count("expiredEnvelopesAssumedCommitted") + count("expiredEnvelopesDropped");
    authorized_ += count("expiredEnvelopeCreatesAuthorized");
  }
  return end;
}

SinkSimulationReport SinkRun::Run() {
  Say(fmt::format("{}, {} records, keys {}, clock jumps {} the allowance, policy {}",
                  is_staged_ ? "exactly once" : "at least once", records_, has_keys_,
                  beyond_allowance_ ? "beyond" : "within", sink::ToString(policy_)));
  int restarts = 0;
  while (!RunProcess().ok() && undecided_ == 0 && restarts < kRestartsHopeless) {
    if (world_.link->is_alive) world_.Die();
    ++restarts;
    if (restarts == kRestartsMax) world_.service.Calm();
    // Mostly a restart; now and then a night, after which names are free again.
    world_.Pass(restarts < kRestartsMax && random_.OneIn(6) ? random_.Between(0, 2 * kNameRetention)
                                                            : random_.Between(0, 5 * kSecond));
    if (random_.OneIn(4)) world_.JumpWallClock();
  }
  if (restarts >= kRestartsHopeless) Fail("the job never ends");
  if (world_.link->is_alive) world_.Die();
  world_.Pass(3600 * kSecond);  // whatever was under way has happened by now
  Check();
  const SinkService::Counts& counts = world_.service.counts();
  report_.trace_hash = world_.service.trace_hash();
  report_.records = static_cast<std::uint64_t>(records_);
  report_.calls = counts.calls;
  report_.deduplicated = counts.deduplicated;
  report_.lost_answers = counts.lost_answers;
  report_.crashes = static_cast<std::uint64_t>(restarts);
  report_.expired = static_cast<std::uint64_t>(undecided_ + given_up_ + authorized_);
  return std::move(report_);
}

void SinkRun::Check() {
  const std::map<std::string, int>& created = world_.service.created_by_body();
  std::int64_t missing = 0;
  std::int64_t surplus = 0;
  // What no completed checkpoint covers is read again by the next start: not lost.
  for (std::int64_t record = 0; record < durable_.next_record; ++record) {
    const auto found = created.find(BodyOf(record));
    if (found == created.end()) {
      ++missing;
      Say(fmt::format("{} is missing", BodyOf(record)));
    } else {
      surplus += found->second - 1;
    }
  }
  const std::int64_t may_miss = is_staged_ ? undecided_ + given_up_ : 0;
  if (missing > may_miss) {
    Fail(fmt::format("{} records lost, {} envelopes were given up by the policy", missing,
                     may_miss));
  }
  if (!is_staged_ || beyond_allowance_) return;
  const std::int64_t may_repeat =
      policy_ == sink::ExpiredEnvelopePolicy::kCreateAnyway ? authorized_ : 0;
  if (surplus > may_repeat) {
    Fail(fmt::format("{} tasks too many, {} creates were authorized after their deadline", surplus,
                     may_repeat));
  }
  for (std::int64_t record = durable_.next_record; record < records_; ++record) {
    if (created.contains(BodyOf(record))) {
      Fail(fmt::format("{} was created without a completed checkpoint", BodyOf(record)));
    }
  }
}

}  // namespace

SinkSimulationReport RunSinkSimulation(std::uint64_t seed, const SinkSimulationOptions& options) {
  return SinkRun(seed, options).Run();
}

}  // namespace sluice::sim
