// SPDX-License-Identifier: Apache-2.0

// Spike: does the thread model (lane, commit, apply) hold when a flush takes
// 0.1, 1 or 5 ms? The real engine on real files, with a file system that makes
// each sync last longer, and creates kept outstanding by a fixed number.
//
//   sluice_spike_flush_delay DIR

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "env/posix/clock.h"
#include "env/posix/file_system.h"
#include "store/rocksdb_store.h"

namespace sluice {
namespace {

using SteadyClock = std::chrono::steady_clock;

const QueueName kQueue{{"p", "l"}, "q"};
constexpr auto kRunTime = std::chrono::seconds(4);

// A file whose syncs take `delay` longer, as on a slower disk.
class SlowFile final : public env::File {
 public:
  SlowFile(std::unique_ptr<env::File> file, std::chrono::microseconds delay)
      : file_(std::move(file)), delay_(delay) {}
  Status WriteAt(std::uint64_t offset, std::string_view data) override {
    return file_->WriteAt(offset, data);
  }
  Status ZeroAt(std::uint64_t offset, std::uint64_t bytes) override {
    return file_->ZeroAt(offset, bytes);
  }
  StatusOr<std::uint64_t> ReadAt(std::uint64_t offset, std::uint64_t bytes,
                                 char* out) const override {
    return file_->ReadAt(offset, bytes, out);
  }
  Status SyncData() override {
    if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
    return file_->SyncData();
  }
  Status Truncate(std::uint64_t bytes) override { return file_->Truncate(bytes); }
  StatusOr<std::uint64_t> Size() const override { return file_->Size(); }

 private:
  const std::unique_ptr<env::File> file_;
  const std::chrono::microseconds delay_;
};

class SlowFileSystem final : public env::PosixFileSystem {
 public:
  explicit SlowFileSystem(std::chrono::microseconds delay) : delay_(delay) {}
  StatusOr<std::unique_ptr<env::File>> Open(const std::string& path, env::OpenMode mode) override {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                            env::PosixFileSystem::Open(path, mode));
    return std::unique_ptr<env::File>(new SlowFile(std::move(file), delay_));
  }

 private:
  const std::chrono::microseconds delay_;
};

class NoDispatcher final : public engine::Dispatcher {
 public:
  void Start(core::StartAttempt, Finished) override {}
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Keeps creates outstanding from the lane's own replies.
class Load {
 public:
  Load(engine::Engine& engine, int outstanding) : engine_(engine), outstanding_(outstanding) {}

  void Run() {
    until_ = SteadyClock::now() + kRunTime;
    open_ = outstanding_;
    for (int i = 0; i < outstanding_; ++i) Send();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return open_ == 0; });
  }

  std::vector<double> latencies_us;

 private:
  void Send() {
    core::NewTask task;
    task.schedule_time = absl::Now() + absl::Hours(1);
    task.request.url = "http://127.0.0.1/";
    task.request.body = std::string(1024, 'x');
    const auto begin = SteadyClock::now();
    engine_.Submit(engine::CreateTask{kQueue, std::move(task)}, [this, begin](engine::Reply reply) {
      SLUICE_CHECK(reply.ok(), Message(reply.status()));
      const auto now = SteadyClock::now();
      latencies_us.push_back(std::chrono::duration<double, std::micro>(now - begin).count());
      if (now < until_) return Send();
      const std::lock_guard lock(mutex_);
      if (--open_ == 0) done_.notify_one();
    });
  }

  engine::Engine& engine_;
  const int outstanding_;
  SteadyClock::time_point until_;
  std::mutex mutex_;
  std::condition_variable done_;
  int open_ = 0;
};

void Measure(const std::string& dir, std::chrono::microseconds delay, int outstanding) {
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir + "/log");
  env::SystemClock clock;
  SlowFileSystem files(delay);
  NoDispatcher dispatcher;
  auto store = store::OpenRocksDb({.path = dir + "/store"});
  SLUICE_CHECK(store.ok(), Message(store.status()));
  engine::Engine::Dependencies dependencies;
  dependencies.clock = &clock;
  dependencies.files = &files;
  dependencies.log_dir = dir + "/log";
  dependencies.store = *std::move(store);
  dependencies.dispatcher = &dispatcher;
  dependencies.random_seed = 1;
  auto engine = engine::Engine::Open({}, std::move(dependencies), nullptr);
  SLUICE_CHECK(engine.ok(), Message(engine.status()));
  (*engine)->Submit(engine::CreateQueue{kQueue, {}}, [](engine::Reply) {});
  Load load(**engine, outstanding);
  const double cpu = CpuSeconds();
  load.Run();
  const double cpu_used = CpuSeconds() - cpu;
  std::vector<double>& l = load.latencies_us;
  std::sort(l.begin(), l.end());
  const auto n = static_cast<double>(l.size());
  const std::uint64_t frames = (*engine)->Metrics().frames;
  fmt::print("{:6.1f} ms {:6} {:10.0f}/s {:8.1f} {:9.2f} {:9.2f} {:9.1f}\n",
             static_cast<double>(delay.count()) / 1e3, outstanding,
             n / std::chrono::duration<double>(kRunTime).count(), cpu_used / n * 1e6,
             l[static_cast<std::size_t>(n * 0.5)] / 1e3,
             l[static_cast<std::size_t>(n * 0.99)] / 1e3, n / static_cast<double>(frames));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: sluice_spike_flush_delay DIR\n");
    return 2;
  }
  fmt::print("added     out    creates    CPU us    p50 ms    p99 ms  a frame\n");
  for (const int delay_us : {0, 100, 1000, 5000}) {
    for (const int outstanding : {64, 256, 2048}) {
      sluice::Measure(argv[1], std::chrono::microseconds(delay_us), outstanding);
    }
  }
  return 0;
}
