// SPDX-License-Identifier: Apache-2.0
#pragma once

// One background thread that runs posted jobs in order. The queue has no bound of
// its own: who posts has at most a fixed number of jobs under way.
//
// Threading: `Post` from any thread. The destructor runs what is queued, then joins.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "env/executor.h"

namespace sluice::env {

class ThreadExecutor : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void Post(std::function<void()> job) override;

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool is_stopping_ = false;                // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::env
