// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where work goes that nobody waits for, such as zeroing the log's next
// segment. Who posts a job cannot tell when it runs, so tests may run it at once
// (InlineExecutor), at a moment the seed decides (SteppedExecutor), or on a real
// thread (ThreadExecutor): the same code is deterministic in the simulation.
//
// Threading: `Post` may be called from any thread, also from inside a job.

#include <deque>
#include <functional>
#include <utility>

namespace sluice::env {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `job` once, now or later. A job still queued when the executor ends is
  /// run before its destructor returns, unless the implementation says otherwise.
  virtual void Post(std::function<void()> job) = 0;
};

/// Runs each job inside `Post`.
class InlineExecutor : public Executor {
 public:
  void Post(std::function<void()> job) override { job(); }
};

/// Keeps jobs until the test runs them; single-threaded. Jobs still queued at the
/// end are dropped, as a crash drops them.
class SteppedExecutor : public Executor {
 public:
  void Post(std::function<void()> job) override { jobs_.push_back(std::move(job)); }
  /// Runs the oldest job; false when there is none.
  bool RunOne() {
    if (jobs_.empty()) return false;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    job();
    return true;
  }
  void Clear() { jobs_.clear(); }

 private:
  std::deque<std::function<void()>> jobs_;
};

}  // namespace sluice::env
