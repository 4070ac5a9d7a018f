// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs jobs after a real span of time, on one thread of its own that exists only
// from the first job on. The time is that of the machine's steady clock, not the
// server's, which may be virtual.
//
// Threading: any thread. Jobs run one at a time on the timer's thread and must
// not block. Ownership: jobs are owned until they ran.
// Failure: none. `Stop` runs everything that waits at once.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "base/time.h"

namespace sluice::admin {

class RealTimer {
 public:
  /// `is_early`: the timer was stopped before the time came.
  using Job = absl::AnyInvocable<void(bool is_early)>;

  RealTimer() = default;
  RealTimer(const RealTimer&) = delete;
  RealTimer& operator=(const RealTimer&) = delete;
  ~RealTimer() { Stop(); }

  /// After Stop the job runs at once, on this thread.
  void After(Duration delay, Job job);
  /// Runs all waiting jobs early and ends the thread. Idempotent.
  void Stop();
  [[nodiscard]] std::size_t waiting_count() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  void Run();

  mutable std::mutex mutex_;  // guards everything below; not held while a job runs
  std::condition_variable wake_;
  std::multimap<Instant, Job> jobs_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace sluice::admin
