// SPDX-License-Identifier: Apache-2.0
#pragma once

// The running engine: one lane thread that owns the state machine, a commit
// thread that syncs the log and feeds the store, a few readers for cold data.
// Opening recovers; destroying stops after everything accepted is durable.
//
// Threading: `Submit` may be called from any thread. Callbacks run on the lane.
// Failure: a failed write or sync ends the process (design, section 4 rule 5).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "engine/commands.h"
#include "log/log.h"
#include "store/store.h"

namespace sluice::env {
class Clock;
class FileSystem;
}  // namespace sluice::env

namespace sluice::engine {

struct Options {
  core::TaskLimits limits;
  log::Options log;
  std::size_t inbox_commands_max = 20'000;
  std::size_t inbox_bytes_max = 256u << 20;
  std::size_t task_cache_bytes = 64u << 20;
  std::uint64_t flush_log_bytes = 64u << 20;  // design, section 4 rule 6
  Duration flush_interval = absl::Seconds(30);
  Duration seal_after_idle = absl::Milliseconds(100);
  /// A frame with so many bytes takes no more commands until it is closed.
  std::size_t frame_bytes_soft_max = 8u << 20;
  /// Under load frames are closed this far apart, unless one is full (docs/adr/0003).
  Duration busy_frame_interval = absl::Milliseconds(3);
  /// Below this many free bytes on the log's device new work is refused (rule 5).
  std::uint64_t free_bytes_reserve = 128u << 20;
};

/// Where attempts go. `Start` must not block; `finished` is called at most once,
/// from any thread, and never after the dispatcher was stopped: stop it before
/// the engine is destroyed. An attempt whose `finished` is never called counts
/// as dispatched without response after the next start.
class Dispatcher {
 public:
  using Finished = absl::AnyInvocable<void(core::AttemptOutcome)>;
  virtual ~Dispatcher() = default;
  virtual void Start(core::StartAttempt attempt, Finished finished) = 0;
};

/// Counters since the process started, and levels now. A consistent enough
/// snapshot for metrics; each figure is exact by itself.
struct EngineMetrics {
  std::uint64_t commands = 0;
  std::uint64_t commands_refused = 0;  // the inbox was full
  std::uint64_t commands_cold = 0;     // had to wait for a read
  std::uint64_t frames = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t attempts_started = 0;
  std::uint64_t attempts_succeeded = 0;
  std::uint64_t attempts_failed = 0;
  std::uint64_t tasks_created = 0;
  std::uint64_t tasks_ended[6] = {};  // by core::TaskEnd
  core::DeadLetterTotals dead_letters;
  std::uint64_t inbox_commands = 0;
  std::uint64_t overlay_keys = 0;
  std::int32_t in_flight = 0;
  bool is_space_low = false;
  log::Usage log;
  store::StoreUsage store;
};

class Engine {
 public:
  struct Dependencies {
    env::Clock* clock = nullptr;
    env::FileSystem* files = nullptr;
    std::string log_dir;  // exists
    std::unique_ptr<store::Store> store;
    Dispatcher* dispatcher = nullptr;
    std::uint64_t random_seed = 0;  // for the key of generated ids of a new data directory
  };

  /// Recovers and starts the threads; ready to serve when it returns.
  /// Errors: DATA_LOSS, FAILED_PRECONDITION for damage and unknown formats.
  static StatusOr<std::unique_ptr<Engine>> Open(const Options& options, Dependencies dependencies,
                                                log::RecoveryReport* report);
  virtual ~Engine() = default;

  /// Hands a command to the lane. When the inbox is full, `done` gets
  /// RESOURCE_EXHAUSTED at once, on the calling thread.
  virtual void Submit(Command command, Done done) = 0;

  /// Wakes the lane after the clock was moved by hand.
  virtual void ClockMoved() = 0;

  /// Refuses new commands (UNAVAILABLE), lets started attempts finish for at
  /// most `grace`, makes everything durable, seals the log, flushes the store.
  virtual void Stop(Duration grace) = 0;

  /// Writes a consistent copy of the data into the new folder `dir` (rule 8);
  /// blocks the calling thread, not the lane. Errors: ALREADY_EXISTS, INTERNAL.
  virtual Status Backup(const std::string& dir) = 0;

  [[nodiscard]] virtual EngineMetrics Metrics() const = 0;
};

}  // namespace sluice::engine
