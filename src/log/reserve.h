// SPDX-License-Identifier: Apache-2.0
#pragma once

// Zeroed segments kept ready ahead of the one being written. Zeroing takes its
// time and its disk space before either is needed: a frame that moves to the next
// segment waits for neither, and a full disk shows here first.
//
// A segment gets its real name only when its zeros and its header are on disk, so
// a named segment is always whole; what a crash leaves half made ends in ".new".
//
// Threading: any thread; one preparation at a time. The executor's job may run
// after `Stop`, and then does nothing.
// Failure: a full disk is a state (`is_low`), anything else is final and stays in
// `failure`.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "env/executor.h"
#include "env/file_system.h"

namespace sluice::log {

/// A segment no frame was written to yet: header, then zeros, all on disk.
struct FreshSegment {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  std::unique_ptr<env::File> file;
};

struct ReserveOptions {
  std::string dir;
  std::uint64_t log_id = 0;
  std::uint64_t segment_bytes_first = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t target = 0;  // segments to keep ready
};

class Reserve : public std::enable_shared_from_this<Reserve> {
 public:
  /// `fs` and `executor` must outlive the reserve; a job that was posted may keep
  /// the reserve itself alive beyond its owner.
  Reserve(env::FileSystem& fs, env::Executor& executor, ReserveOptions options)
      : fs_(fs), executor_(executor), options_(std::move(options)) {}

  /// Takes in a segment found at start; call in order of number.
  void Adopt(FreshSegment segment);
  /// The number of the next segment to be made, above all adopted ones.
  void StartAt(std::uint32_t number);

  /// The next segment, at least `bytes_min` large; made or enlarged on the spot
  /// when need be. Errors: RESOURCE_EXHAUSTED for a full disk; else final.
  StatusOr<FreshSegment> Take(std::uint64_t bytes_min);

  /// Has missing segments made by the executor; cheap when none is missing.
  void Refill();

  /// Waits for a preparation under way, which ends early, and forbids others.
  void Stop();

  [[nodiscard]] Status failure() const;
  /// True from a preparation that met a full disk until the reserve is complete.
  [[nodiscard]] bool is_low() const;
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t segments() const;

 private:
  void RunJob();
  StatusOr<FreshSegment> MakeNext(std::unique_lock<std::mutex>& lock, std::uint64_t bytes_min,
                                  std::uint64_t piece_bytes);
  StatusOr<std::unique_ptr<env::File>> MakeFile(std::uint32_t number, std::uint64_t bytes,
                                                std::uint64_t piece_bytes);
  /// Header and zeros, all on disk on return; synced after each `piece_bytes`.
  Status FillFile(env::File& file, std::uint32_t number, std::uint64_t bytes,
                  std::uint64_t piece_bytes);
  [[nodiscard]] std::uint64_t BytesOf(std::uint32_t number) const;
  [[nodiscard]] bool is_stopping() const;

  env::FileSystem& fs_;
  env::Executor& executor_;
  const ReserveOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FreshSegment> ready_;
  std::uint32_t next_number_ = 1;
  bool is_making_ = false;  // someone is in MakeFile, without the lock
  bool is_posted_ = false;  // a job waits in the executor
  bool is_low_ = false;
  bool is_stopping_ = false;
  Status failure_;
};

}  // namespace sluice::log
