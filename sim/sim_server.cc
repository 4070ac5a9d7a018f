// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_server.h"

#include <algorithm>
#include <utility>

#include "engine/recovery.h"
#include "store/keys.h"

namespace sluice::sim {
namespace {

constexpr char kLogDir[] = "log";

}  // namespace

ServerKnobs ServerKnobs::Draw(Random& random) {
  ServerKnobs k;
  k.is_power_cut_survivable = !random.OneIn(4);
  k.log.durability = k.is_power_cut_survivable ? log::Durability::kSync : log::Durability::kOs;
  k.log.segment_bytes_first = random.Pick<std::uint64_t>(4096, 16384, 65536);
  k.log.segment_bytes =
      std::max(k.log.segment_bytes_first, random.Pick<std::uint64_t>(16384, 65536));
  k.lane.limits.window_rows_max = random.Pick<std::size_t>(2, 5, 16, 1024);
  k.lane.limits.window_rows_low = std::max<std::size_t>(1, k.lane.limits.window_rows_max / 4);
  k.lane.limits.prefetch_rows_max = random.Pick<std::size_t>(1, 3, 32);
  k.lane.limits.purge_rows_max = random.Pick<std::size_t>(1, 4, 256);
  k.lane.limits.in_flight_max = random.Pick<std::int32_t>(2, 10, 5000);
  k.lane.limits.in_flight_bytes_max = random.Pick<std::size_t>(600, 64u << 20);
  k.lane.limits.queue_name_reservation =
      random.OneIn(3) ? absl::Seconds(random.Between(1, 30)) : absl::ZeroDuration();
  k.lane.task_cache_bytes = random.Pick<std::size_t>(1, 4000, 64u << 20);
  k.lane.frame_bytes_soft_max = random.Pick<std::size_t>(200, 8u << 20);
  k.store_cold_fraction = random.Pick<double>(0.0, 0.2, 0.9);
  k.sync_time_max = random.Pick<Duration>(absl::Microseconds(150), absl::Milliseconds(5),
                                          absl::Milliseconds(200));
  k.apply_time_max = random.Pick<Duration>(absl::Microseconds(50), absl::Milliseconds(300));
  k.read_time_max = random.Pick<Duration>(absl::Microseconds(100), absl::Milliseconds(500));
  return k;
}

SimServer::SimServer(EventLoop& loop, Random& random, const ServerKnobs& knobs,
                     AttemptSink attempts, engine::EndObserver ends)
    : loop_(loop),
      random_(random),
      knobs_(knobs),
      attempts_(std::move(attempts)),
      ends_(std::move(ends)),
      clock_(loop),
      disk_(random.Bits()),
      store_(store::ModelStoreOptions{random.Bits(), knobs.store_cold_fraction}) {}

SimServer::~SimServer() = default;

Status SimServer::Start() {
  SLUICE_CHECK(!is_running(), "one process at a time");
  if (!has_directory_) {
    SLUICE_RETURN_IF_ERROR(disk_.CreateDirectory(kLogDir));
    SLUICE_RETURN_IF_ERROR(disk_.SyncDirectory("."));
    has_directory_ = true;
  }
  log::Options log_options = knobs_.log;
  log_options.clock = &clock_;
  log_options.new_log_id = random_.Bits();
  SLUICE_ASSIGN_OR_RETURN(engine::Recovered recovered,
                          engine::Recover(disk_, kLogDir, log_options, store_, random_.Bits()));
  log_ = std::move(recovered.log);
  lane_ =
      std::make_unique<engine::Lane>(knobs_.lane, store_, static_cast<engine::LanePorts&>(*this));
  lane_->set_end_observer(ends_);
  is_dying_ = false;
  SLUICE_RETURN_IF_ERROR(lane_->Recover(recovered.checkpoint, loop_.now()));
  Round();
  return absl::OkStatus();
}

void SimServer::Kill(bool is_power_cut) {
  loop_.EndLife();
  cold_commands_ = cold_commands();
  lane_.reset();
  log_.reset();
  timer_at_ = absl::InfiniteFuture();
  is_round_posted_ = false;
  is_sync_pending_ = false;
  to_apply_.clear();
  if (is_power_cut) {
    disk_.Crash();
  } else {
    disk_.Kill();
  }
  store_.Crash();
}

void SimServer::ArmPowerCut(std::uint64_t within_operations) {
  disk_.StopAfter(1 + random_.Below(within_operations));
}

void SimServer::ArmDiskFault(env::SimOperation operation, std::uint64_t within_calls) {
  disk_.FailAfter(operation, 1 + random_.Below(within_calls));
}

void SimServer::Submit(engine::Command command, engine::Done done) {
  lane_->Handle(std::move(command), std::move(done), loop_.now());
  // Commands that arrive close together share a round, as they share an inbox.
  if (is_round_posted_) return;
  is_round_posted_ = true;
  loop_.AtInLife(loop_.now() + random_.UpTo(absl::Microseconds(200)), [this] {
    is_round_posted_ = false;
    Round();
  });
}

void SimServer::FinishAttempt(std::uint64_t life, core::AttemptId id,
                              core::AttemptOutcome outcome) {
  if (life != loop_.life() || !is_running()) return;
  lane_->OnAttemptFinished(id, outcome, loop_.now());
  Round();
}

void SimServer::Round() {
  if (is_dying_) return;
  lane_->FinishRound(loop_.now());
  ArmTimer();
}

void SimServer::ArmTimer() {
  const Time deadline = lane_->NextDeadline();
  if (deadline == absl::InfiniteFuture() || deadline >= timer_at_) return;
  timer_at_ = deadline;
  loop_.AtInLife(deadline, [this, deadline] {
    if (timer_at_ != deadline) return;  // an earlier one took its place
    timer_at_ = absl::InfiniteFuture();
    Round();
  });
}

// The log failed under the process: it must end, in the middle of an event.
void SimServer::Die() {
  is_dying_ = true;
  loop_.AtInLife(loop_.now(), [this] { on_death_(); });
}

void SimServer::Commit(engine::Frame frame) {
  loop_.AtInLife(loop_.now() + random_.UpTo(absl::Microseconds(100)),
                 [this, frame = std::move(frame)] { AppendFrame(frame); });
}

void SimServer::AppendFrame(const engine::Frame& frame) {
  if (is_sync_pending_) {  // only a lane that was told too early comes so soon
    loop_.AtInLife(loop_.now() + absl::Milliseconds(1), [this, frame] { AppendFrame(frame); });
    return;
  }
  is_sync_pending_ = true;
  const StatusOr<log::Position> position =
      log_->Append(engine::EncodeFrame(frame.checkpoint, frame.batch.bytes()));
  if (!position.ok()) return Die();
  if (knobs_.sabotage == Sabotage::kReplyBeforeSync) {
    lane_->OnCommitted(frame.number);
    Round();
  }
  if (knobs_.sabotage == Sabotage::kStoreBeforeSync) {
    IgnoreError(store_.Apply(engine::BatchForStore(frame.batch, frame.checkpoint, *position)),
                "the model store takes every batch");
    IgnoreError(store_.Flush(), "the model store always flushes");
  }
  loop_.AtInLife(loop_.now() + random_.UpTo(knobs_.sync_time_max),
                 [this, frame, position = *position] { SyncFrame(frame, position); });
}

void SimServer::SyncFrame(engine::Frame frame, log::Position position) {
  if (!log_->Sync().ok()) return Die();
  is_sync_pending_ = false;
  if (knobs_.sabotage != Sabotage::kReplyBeforeSync) lane_->OnCommitted(frame.number);
  // The applying thread takes frames in order, whatever each one's time is.
  to_apply_.emplace_back(std::move(frame), position);
  loop_.AtInLife(loop_.now() + random_.UpTo(knobs_.apply_time_max), [this] { ApplyNext(); });
  if (random_.OneIn(8) && !log_->Seal().ok()) return Die();
  Round();
}

void SimServer::ApplyNext() {
  const auto [frame, position] = std::move(to_apply_.front());
  to_apply_.pop_front();
  const Status status =
      store_.Apply(engine::BatchForStore(frame.batch, frame.checkpoint, position));
  SLUICE_CHECK(status.ok(), "the model store takes every batch");
  lane_->OnApplied(frame.number);
  if (random_.OneIn(6)) MaybeFlush();
  Round();
}

void SimServer::MaybeFlush() {
  if (knobs_.sabotage == Sabotage::kDropUnflushed) {
    if (!log_->DropBefore(log_->usage().end).ok()) Die();
    return;
  }
  store_.FlushSome(random_.Bits());
  const auto raw = store_.GetFlushed(store::kMetaKey);
  if (!raw.ok() || !*raw) return;
  const StatusOr<engine::Meta> meta = engine::DecodeMeta(**raw);
  SLUICE_CHECK(meta.ok(), "the meta record reads back");
  if (!log_->DropBefore(meta->applied).ok()) Die();
}

void SimServer::Read(engine::ReadRequest request) {
  // What a read sees and when its answer arrives are different moments.
  const Time run_at = loop_.now() + random_.UpTo(knobs_.read_time_max);
  const Time answer_at = run_at + random_.UpTo(knobs_.read_time_max);
  loop_.AtInLife(run_at, [this, answer_at, request = std::move(request)] {
    engine::ReadResult result = engine::RunRead(store_, request);
    loop_.AtInLife(answer_at, [this, result = std::move(result)] {
      lane_->OnRead(result, loop_.now());
      Round();
    });
  });
}

void SimServer::StartAttempt(core::StartAttempt attempt) { attempts_(std::move(attempt)); }

}  // namespace sluice::sim
