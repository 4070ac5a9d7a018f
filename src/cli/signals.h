// SPDX-License-Identifier: Apache-2.0
#pragma once

// The process's signals as events: SIGTERM and SIGINT ask for a stop, SIGHUP for
// a reload of the queues. A second request to stop ends the process at once:
// whatever was acknowledged is durable without a farewell. SIGPIPE is ignored.
//
// Threading: construct before any other thread, which then inherits the blocked
// signals; `Wait` from one thread. One object a process.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice::cli {

class Signals {
 public:
  enum class Event : unsigned char { kReload, kStop };

  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  /// The next event; a stop overtakes reloads, and several reloads are one.
  Event Wait();

 private:
  void Run();

  std::mutex mutex_;  // guards the two flags
  std::condition_variable changed_;
  bool is_stop_wanted_ = false;
  bool is_reload_wanted_ = false;
  std::thread thread_;
};

}  // namespace sluice::cli
