// SPDX-License-Identifier: Apache-2.0
#pragma once

// The way of a frame to the disk: one thread appends and syncs it, a second one
// applies it to the store, a third flushes the store and lets go of old log
// segments. The lane hears of both steps through its inbox.
//
// The order is the write-ahead gate (design, section 4 rule 1): a frame is
// handed to the applying thread only after its sync returned.
//
// Threading: `Commit` is called by the lane; `PinLog`, `usage` by anyone.
// Failure: any failed write, sync or store error ends the process (rule 5). No
// later frame could be trusted, and a second sync that succeeds proves nothing.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/inbox.h"
#include "engine/lane.h"
#include "log/log.h"
#include "store/store.h"

namespace sluice::env {
class FileSystem;
}  // namespace sluice::env

namespace sluice::engine {

struct CommitterOptions {
  std::uint64_t flush_log_bytes = 64u << 20;  // log kept since the last flush
  Duration flush_interval = absl::Seconds(30);
  Duration seal_after_idle = absl::Milliseconds(100);
  /// Below this many free bytes the disk counts as full: what is left belongs to
  /// deletes, outcomes and the store's own compactions.
  std::uint64_t free_bytes_reserve = 128u << 20;
};

class Committer {
 public:
  /// `files` may be null: then free space is judged by the log alone.
  Committer(const CommitterOptions& options, log::Log& log, store::Store& store, Inbox& lane,
            env::FileSystem* files, std::string log_dir);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// Takes one frame; the previous one must be committed.
  void Commit(Frame frame);

  /// Waits until every frame is applied, then seals the log, flushes the store
  /// and ends the threads. No Commit after it.
  void Stop();

  struct Totals {
    std::uint64_t frames = 0;
    std::uint64_t frame_bytes = 0;
  };
  [[nodiscard]] Totals totals() const { return {frames_, frame_bytes_}; }

 private:
  struct ToApply {
    log::Position position = log::kBeginning;
    Frame frame;
  };

  void RunCommits();
  void RunApplies();
  void RunFlushes();
  void FlushNow();
  void WatchSpace();

  const CommitterOptions options_;
  log::Log& log_;
  store::Store& store_;
  Inbox& lane_;
  env::FileSystem* const files_;
  const std::string log_dir_;

  std::atomic<std::uint64_t> frames_ = 0;
  std::atomic<std::uint64_t> frame_bytes_ = 0;
  std::atomic<std::uint64_t> bytes_since_flush_ = 0;
  bool is_space_low_ = false;  // flush thread only

  std::mutex commit_mutex_;  // guards the two below
  std::condition_variable commit_changed_;
  std::optional<Frame> to_commit_;
  bool is_commit_stopping_ = false;

  std::mutex apply_mutex_;  // guards the two below
  std::condition_variable apply_changed_;
  std::deque<ToApply> to_apply_;
  bool is_apply_stopping_ = false;

  std::mutex flush_mutex_;  // guards the one below
  std::condition_variable flush_changed_;
  bool is_flush_stopping_ = false;

  std::thread commits_;
  std::thread applies_;
  std::thread flushes_;
};

/// Says why on standard error and ends the process with exit code 1, running no
/// destructors: the state in memory is ahead of what can be made durable.
[[noreturn]] void EndProcess(std::string_view what, const Status& status);

}  // namespace sluice::engine
