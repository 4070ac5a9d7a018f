// SPDX-License-Identifier: Apache-2.0
#pragma once

// The server as one simulated process: the production lane, log and recovery
// over a model disk and a model store, with every wait turned into an event
// whose length the seed decides. It can be killed between any two events and,
// through the disk, inside any write.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/lane.h"
#include "env/clock.h"
#include "env/sim/file_system.h"
#include "log/log.h"
#include "sim/event_loop.h"
#include "sim/random.h"
#include "store/model_store.h"

namespace sluice::sim {

/// A rule of the engine broken on purpose, to see that the checker notices.
enum class Sabotage : std::uint8_t {
  kNone,
  kReplyBeforeSync,  // design section 4 rule 2
  kStoreBeforeSync,  // rule 1
  kDropUnflushed,    // rule 6
};

/// The settings a seed chooses; small, so that rare paths are common.
struct ServerKnobs {
  engine::LaneOptions lane;
  log::Options log;
  double store_cold_fraction = 0;
  Duration sync_time_max;
  Duration apply_time_max;
  Duration read_time_max;
  bool is_power_cut_survivable = true;  // false: kills only (Durability::kOs)
  Sabotage sabotage = Sabotage::kNone;

  static ServerKnobs Draw(Random& random);
};

/// The loop's time as the log sees it.
class LoopClock final : public env::Clock {
 public:
  explicit LoopClock(const EventLoop& loop) : loop_(loop) {}
  [[nodiscard]] Time Now() const override { return loop_.now(); }
  [[nodiscard]] Duration RealTimeUntil(Time) const override { return absl::ZeroDuration(); }

 private:
  const EventLoop& loop_;
};

class SimServer : private engine::LanePorts {
 public:
  /// Called when an attempt leaves the server. Answer with `FinishAttempt`.
  using AttemptSink = std::function<void(core::StartAttempt)>;

  SimServer(EventLoop& loop, Random& random, const ServerKnobs& knobs, AttemptSink attempts,
            engine::EndObserver ends);
  ~SimServer() override;

  /// Recovers and serves. Errors: those of recovery, which is then a finding.
  Status Start();
  [[nodiscard]] bool is_running() const { return lane_ != nullptr; }

  /// Loses the process; with a power cut also what was not synced.
  void Kill(bool is_power_cut);
  /// Lets the disk stop at a random coming operation; the process dies there.
  void ArmPowerCut(std::uint64_t within_operations);
  /// A write or a sync of the log fails once, soon.
  void ArmDiskFault(env::SimOperation operation, std::uint64_t within_calls);

  /// Requires: is_running(). `done` may be lost with the life.
  void Submit(engine::Command command, engine::Done done);
  /// Ignored when the life of the attempt has ended.
  void FinishAttempt(std::uint64_t life, core::AttemptId id, core::AttemptOutcome outcome);

  /// Called when the process died by itself (a disk fault or an armed power cut).
  void set_on_death(std::function<void()> on_death) { on_death_ = std::move(on_death); }

  [[nodiscard]] bool is_power_cut_survivable() const { return knobs_.is_power_cut_survivable; }
  /// Commands that met a cold read, over all lives.
  [[nodiscard]] std::uint64_t cold_commands() const {
    return cold_commands_ + (lane_ ? lane_->counters().commands_cold : 0);
  }

 private:
  void Commit(engine::Frame frame) override;
  void Read(engine::ReadRequest request) override;
  void StartAttempt(core::StartAttempt attempt) override;

  void AppendFrame(const engine::Frame& frame);
  void SyncFrame(engine::Frame frame, log::Position position);
  void ApplyNext();
  void MaybeFlush();
  void Round();
  void ArmTimer();
  void Die();

  EventLoop& loop_;
  Random& random_;
  const ServerKnobs knobs_;
  const AttemptSink attempts_;
  const engine::EndObserver ends_;
  std::function<void()> on_death_;

  const LoopClock clock_;
  env::SimFileSystem disk_;
  store::ModelStore store_;
  std::unique_ptr<log::Log> log_;
  std::unique_ptr<engine::Lane> lane_;
  std::deque<std::pair<engine::Frame, log::Position>> to_apply_;
  Time timer_at_ = absl::InfiniteFuture();
  bool is_round_posted_ = false;
  bool is_sync_pending_ = false;
  bool is_dying_ = false;
  bool has_directory_ = false;
  std::uint64_t cold_commands_ = 0;  // of ended lives
};

}  // namespace sluice::sim
