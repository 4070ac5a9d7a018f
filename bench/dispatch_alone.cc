// SPDX-License-Identifier: Apache-2.0

// The dispatcher without an engine, beside its peer curl_loop.cc: the same
// POSTs, the same number in flight, but as task attempts with all their headers.
//
//   sluice_bench_dispatch --port N [--requests N] [--in-flight N] [--body N]
//                         [--driver self|thread]
//
// `--driver` is who starts the next attempt when one has ended: the dispatcher's
// own thread from within the outcome, or a second thread that takes outcomes in
// batches, as the engine's lane does.
//
// Prints one line of figures: rate, CPU time of this process per request,
// latency from Start to the outcome.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/tasks/effects.h"
#include "dispatch/task_dispatcher.h"

namespace sluice::dispatch {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Settings {
  std::uint64_t port = 0;
  std::uint64_t requests = 200'000;
  std::uint64_t in_flight = 100;
  std::uint64_t body_bytes = 1024;
  std::string_view driver = "thread";
};

[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "dispatch_alone: {}\n", what);
  std::exit(1);
}

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Driver {
 public:
  explicit Driver(const Settings& settings) : settings_(settings), dispatcher_({}) {
    auto body = std::make_shared<core::TaskBody>();
    body->task_id = "1234567890123456789";
    body->schedule_time = absl::FromUnixMicros(1'700'000'000'123'456);
    body->request.url = fmt::format("http://127.0.0.1:{}/task", settings.port);
    body->request.headers = {{"Content-Type", "application/octet-stream"}};
    body->request.body.assign(settings.body_bytes, 'x');
    attempt_.queue = {{"project", "location"}, "queue"};
    attempt_.task.body = std::move(body);
    attempt_.task.progress.dispatch_count = 1;
    attempt_.task.progress.schedule_time = attempt_.task.body->schedule_time;
    latencies_us_.reserve(settings.requests);
  }

  void Run() {
    const bool is_own_thread = settings_.driver == "thread";
    if (!is_own_thread && settings_.driver != "self") Die("--driver is self or thread");
    started_ = std::min(settings_.in_flight, settings_.requests);
    for (std::uint64_t i = 0; i < started_; ++i) StartOne();
    std::unique_lock lock(mutex_);
    std::uint64_t done = 0;
    std::uint64_t ended = 0;
    while (done < settings_.requests) {
      changed_.wait(lock, [&] { return ended_ > 0; });
      ended = std::exchange(ended_, 0);
      lock.unlock();
      done += ended;
      if (is_own_thread) {
        const std::uint64_t more = std::min(ended, settings_.requests - started_);
        started_ += more;
        for (std::uint64_t i = 0; i < more; ++i) StartOne();
      }
      lock.lock();
    }
  }

  void Report(double seconds, double cpu_seconds) {
    dispatcher_.Stop(absl::Seconds(1));
    std::sort(latencies_us_.begin(), latencies_us_.end());
    const auto count = static_cast<double>(latencies_us_.size());
    const auto at = [&](double share) {
      return latencies_us_[static_cast<std::size_t>(share * (count - 1))];
    };
    fmt::print(
        "driver={} in_flight={} requests={} bad={} connections={} rate={:.0f}/s "
        "cpu={:.2f}us/request p50={}us p99={}us p99.9={}us\n",
        settings_.driver, settings_.in_flight, latencies_us_.size(), bad_,
        dispatcher_.Metrics().connections_opened, count / seconds, cpu_seconds * 1e6 / count,
        at(0.5), at(0.99), at(0.999));
  }

 private:
  void StartOne() {
    const SteadyClock::time_point begin = SteadyClock::now();
    dispatcher_.Start(attempt_, [this, begin](core::AttemptOutcome outcome) {
      const std::chrono::duration<double, std::micro> took = SteadyClock::now() - begin;
      latencies_us_.push_back(static_cast<std::int64_t>(took.count()));
      if (outcome.http_status != 200) ++bad_;
      if (settings_.driver == "self" && started_ < settings_.requests) {
        ++started_;
        StartOne();
      }
      const std::lock_guard lock(mutex_);
      if (ended_++ == 0) changed_.notify_one();
    });
  }

  Settings settings_;
  core::StartAttempt attempt_;
  std::uint64_t started_ = 0;  // of whoever drives
  std::uint64_t bad_ = 0;
  std::vector<std::int64_t> latencies_us_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t ended_ = 0;  // guarded by mutex_; not yet seen by Run
  TaskDispatcher dispatcher_;
};

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "--port") settings.port = NumberOf(value);
    if (flag == "--requests") settings.requests = NumberOf(value);
    if (flag == "--in-flight") settings.in_flight = NumberOf(value);
    if (flag == "--body") settings.body_bytes = NumberOf(value);
    if (flag == "--driver") settings.driver = value;
  }
  if (settings.port == 0 || settings.requests == 0) Die("--port and --requests are needed");
  Driver driver(settings);
  const double cpu_before = CpuSeconds();
  const SteadyClock::time_point begin = SteadyClock::now();
  driver.Run();
  const std::chrono::duration<double> took = SteadyClock::now() - begin;
  driver.Report(took.count(), CpuSeconds() - cpu_before);
  return 0;
}

}  // namespace
}  // namespace sluice::dispatch

int main(int argc, char** argv) { return sluice::dispatch::Main(argc, argv); }
