// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace sluice::cli {
namespace {

/// Wakes our own thread so that it ends.
constexpr int kEndSignal = SIGUSR2;

sigset_t Watched() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, kEndSignal}) ::sigaddset(&set, signal);
  return set;
}

[[noreturn]] void EndAtOnce() {
  constexpr std::string_view kText = "sluice: stopped at once by a second signal\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(EXIT_FAILURE);
}

}  // namespace

Signals::Signals() {
  ::signal(SIGPIPE, SIG_IGN);
  const sigset_t watched = Watched();
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  thread_ = std::thread([this] { Run(); });
}

Signals::~Signals() {
  ::pthread_kill(thread_.native_handle(), kEndSignal);
  thread_.join();
}

Signals::Event Signals::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_stop_wanted_ || is_reload_wanted_; });
  if (is_stop_wanted_) return Event::kStop;
  is_reload_wanted_ = false;
  return Event::kReload;
}

void Signals::Run() {
  const sigset_t watched = Watched();
  while (true) {
    int signal = 0;
    if (::sigwait(&watched, &signal) != 0) continue;
    if (signal == kEndSignal) return;
    const std::lock_guard lock(mutex_);
    if (signal == SIGHUP) {
      is_reload_wanted_ = true;
    } else if (is_stop_wanted_) {
      EndAtOnce();
    } else {
      is_stop_wanted_ = true;
    }
    changed_.notify_one();
  }
}

}  // namespace sluice::cli
