// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of `sluice sink`: read, write, checkpoint, commit.
//
// The order that loses and doubles nothing: flush the writer; save source position and
// batch together, durably; only then commit the batch, while the next one is being
// read. A checkpoint waits for the commit before it, so one batch at most is owed. After
// a restart the batch of the latest checkpoint is committed first, before any record is
// read: its tasks may or may not be there, and their names tell.
// A batch that reaches half of its limits is closed early; while the next one is full
// nothing is read. So an input of any size passes.
//
// Threading: Run on one thread; Stop and figures from any. Commits run on a thread of
// the host's own.
// Failure: the first error ends the run; what a started commit left open is done by the
// next start.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "runner/checkpoint_store.h"
#include "runner/record_source.h"
#include "runner/sink_port.h"

namespace sluice::runner {

using SteadyTime = std::chrono::steady_clock::time_point;

struct HostParts {
  RecordSource* source = nullptr;
  SinkPort* sink = nullptr;
  CheckpointStore* checkpoints = nullptr;  // null: no restart; only without batches
  std::string job;                         // whose checkpoints these are
  std::chrono::milliseconds interval{10'000};
  std::function<SteadyTime()> now;
  std::function<void()> on_turn;  // often, between records: progress
};

/// How far a run is. Read from any thread.
struct HostFigures {
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> blank_lines{0};  // passed over
  std::atomic<std::uint64_t> checkpoints{0};
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::int64_t> committed_tasks{0};  // by this process, of batches it took itself
  std::atomic<std::uint64_t> early_checkpoints{0};
  std::atomic<std::uint64_t> waits_for_commit{0};
  std::atomic<SteadyTime> last_checkpoint{SteadyTime()};
};

class Host {
 public:
  explicit Host(HostParts parts);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  /// Until the input ends or `Stop`; then everything read is checkpointed and committed.
  /// Errors: of source, sink and checkpoints; FAILED_PRECONDITION for another job's
  /// checkpoint.
  Status Run();

  /// Reads no more; Run returns after its last commit.
  void Stop() { is_stopping_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] const HostFigures& figures() const { return figures_; }

 private:
  Status Restore();
  Status ReadAll();
  Status MaybeCheckpoint();
  Status Checkpoint(bool is_end_of_input);
  Status FinishCommit();  // waits for the one under way
  Status PollCommit();    // its error as soon as it is known
  Status Save(std::string batch);
  void StartCommit(std::string batch, std::int64_t tasks);

  HostParts parts_;
  HostFigures figures_;
  std::atomic<bool> is_stopping_{false};
  std::uint64_t next_id_ = 1;
  bool is_batch_owed_ = false;  // the latest checkpoint still names a batch
  std::optional<SourcePosition> saved_position_;
  std::future<Status> commit_;
};

}  // namespace sluice::runner
