// SPDX-License-Identifier: Apache-2.0
#pragma once

// A lane: the state machine of its partitions, the frame being filled, and what
// waits for which frame. It owns no thread and never waits; the engine drives
// it from one thread, the simulator from its event loop, by the same calls.
//
// Nothing leaves before it is durable (design, section 4 rule 2): every reply
// and every attempt is held until the commit of the frame that was open, or, if
// nothing changed, of the last one closed, when it was computed. Loads of cold
// data change nothing outside and go at once.
//
// At most one frame is being committed; what is computed meanwhile goes into the
// next one, which is group commit.
//
// Threading: one thread. Ownership: ports and store outlive the lane.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "core/tasks/machine.h"
#include "engine/commands.h"
#include "engine/reads.h"
#include "engine/records.h"
#include "engine/store_ledger.h"

namespace sluice::engine {

/// A closed frame on its way to the log and then to the store.
struct Frame {
  FrameNumber number = 0;
  Checkpoint checkpoint;
  store::Batch batch;
};

/// What the lane needs done. Calls return at once; answers come back as calls
/// of the lane on its thread.
class LanePorts {
 public:
  virtual ~LanePorts() = default;
  /// Append, sync, then apply to the store. Answers: OnCommitted, then OnApplied.
  virtual void Commit(Frame frame) = 0;
  /// Answer: OnRead.
  virtual void Read(ReadRequest request) = 0;
  /// The attempt's start is durable. Answer: OnAttemptFinished.
  virtual void StartAttempt(core::StartAttempt attempt) = 0;
};

struct LaneOptions {
  core::TaskLimits limits;
  std::size_t task_cache_bytes = 64u << 20;
  /// A frame this large takes no more commands until it could be closed.
  std::size_t frame_bytes_soft_max = 8u << 20;
  /// Reads outstanding; above it no more commands are taken.
  std::size_t reads_max = 10'000;
  /// Changes not yet in the store; above it new work is refused.
  std::size_t overlay_bytes_max = 256u << 20;
};

struct LaneCounters {
  std::uint64_t commands = 0;
  std::uint64_t commands_cold = 0;
  std::uint64_t attempts_started = 0;
  std::uint64_t attempts_succeeded = 0;
  std::uint64_t attempts_failed = 0;
  std::uint64_t tasks_created = 0;
  std::uint64_t tasks_ended[6] = {};  // by core::TaskEnd
};

/// Told of every end of a task as it is computed; for the simulator.
using EndObserver = std::function<void(const core::TaskEnded&)>;

class Lane {
 public:
  Lane(const LaneOptions& options, const store::Store& store, LanePorts& ports);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Loads queues and reservations from the store, which must hold everything
  /// the log holds, and starts the machine. Errors: those of the records.
  Status Recover(const Checkpoint& checkpoint, Time now);

  /// Runs one command; `done` is called when its reply may leave. Requires: WantsCommands().
  void Handle(Command command, Done done, Time now);
  /// False while the open frame or the reads are full: leave commands in the inbox.
  [[nodiscard]] bool WantsCommands() const;
  /// What the open frame may still take, as the size of its records.
  [[nodiscard]] std::size_t frame_bytes_left() const;

  /// What waited for the frame leaves in the next FinishRound.
  void OnCommitted(FrameNumber frame);
  void OnApplied(FrameNumber frame);
  void OnRead(ReadResult result, Time now);
  void OnAttemptFinished(core::AttemptId id, const core::AttemptOutcome& outcome, Time now);

  /// Ends a round: does what is due, hands out loads, lets replies and attempts go
  /// that wait for nothing any more, and closes the frame when the previous one is
  /// committed. (Closing it before the replies go would keep the disk busier with
  /// smaller frames; on two cores that cost more than it gained.)
  /// With `may_close` false the frame stays open whatever happens, to gather more.
  void FinishRound(Time now, bool may_close = true);
  /// True while a closed frame is not committed yet.
  [[nodiscard]] bool is_committing() const { return committed_ != closed_; }
  /// True when a frame could be closed.
  [[nodiscard]] bool has_frame_to_close() const {
    return !is_committing() && !ledger_.overlay().is_open_frame_empty();
  }
  [[nodiscard]] Time NextDeadline() const;

  /// While set, creates are refused with RESOURCE_EXHAUSTED (rule 5: full disk).
  void set_is_space_low(bool is_low) { is_space_low_ = is_low; }
  /// No attempt starts any more; for a graceful stop.
  void StopDispatch() { is_dispatching_ = false; }
  void set_end_observer(EndObserver observer) { end_observer_ = std::move(observer); }

  /// True when everything computed is durable and applied and nothing waits.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] const LaneCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t overlay_keys() const { return ledger_.overlay().key_count(); }
  [[nodiscard]] std::int32_t in_flight() const { return machine_.in_flight(); }
  [[nodiscard]] const core::DeadLetterTotals& dead_letter_totals() const {
    return machine_.dead_letter_totals();
  }
  [[nodiscard]] Time now() const { return now_; }

 private:
  struct PendingReply {
    Done done;
    Reply reply;
  };
  struct Gated {
    FrameNumber frame;
    std::variant<PendingReply, core::StartAttempt> what;
  };
  /// A command that met a cold read and will be run again.
  struct ColdCommand {
    Command command;
    Done done;
    int tries = 0;
  };
  struct PendingList {
    ListRead read;
    Done done;
  };
  using PendingRead = std::variant<ColdCommand, PendingList, core::LoadWindow, core::LoadTasks,
                                   core::FindOldest, core::FindPurged, core::FindTombstones>;

  void Run(ColdCommand work);
  StatusOr<Result> Execute(const Command& command);
  bool IsRefusedForSpace(const Command& command, Status* status) const;
  void BeginList(const ListTasks& list, Done done);
  void Hold(Done done, Reply reply);
  void DrainEffects();
  template <typename T>
  void RequestReads(std::vector<T>& requests);
  void Request(decltype(ReadRequest::what) what, PendingRead pending);
  void CloseFrame();
  void Release();
  [[nodiscard]] FrameNumber Gate() const;
  [[nodiscard]] Checkpoint CheckpointNow() const;
  void Observe(Time now) { now_ = std::max(now_, FloorToMicros(now)); }

  const LaneOptions options_;
  const store::Store& store_;
  LanePorts& ports_;
  StoreLedger ledger_;
  core::Effects effects_;
  core::TaskMachine machine_;

  Time now_ = absl::UnixEpoch();
  std::uint64_t generated_id_key_ = 0;
  std::uint64_t epoch_ = 0;
  bool is_space_low_ = false;
  bool is_dispatching_ = true;

  FrameNumber closed_ = 0;     // last frame handed to Commit
  FrameNumber committed_ = 0;  // last frame known durable
  FrameNumber applied_ = 0;    // last frame known to be in the store
  std::deque<Gated> gated_;    // in order of `frame`

  std::uint64_t next_read_ = 1;
  absl::flat_hash_map<std::uint64_t, PendingRead> reads_;

  LaneCounters counters_;
  EndObserver end_observer_;
};

}  // namespace sluice::engine
