// SPDX-License-Identifier: Apache-2.0
// What one durable frame costs on the disk of a given folder: microseconds a frame
// (append and sync) for batches of 1, 16 and 128 records of 1 KiB, with default
// segments and the zeroing thread at work. Not part of the test run.
//   sluice_log_bench FOLDER [SECONDS_EACH]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "env/posix/file_system.h"
#include "env/posix/thread_executor.h"
#include "log/log.h"

namespace sluice::log {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kRecordBytes = 1024;
constexpr std::uint64_t kDropEveryBytes = 256u << 20;

double Micros(SteadyClock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

double CpuMicros() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe)
}

void Measure(env::FileSystem& fs, const std::string& dir, std::size_t batch, double seconds) {
  env::ThreadExecutor executor;
  Options options;
  options.executor = &executor;
  options.new_log_id = 1;
  if (const Status made = fs.CreateDirectory(dir); !made.ok()) Fail(made);
  StatusOr<std::unique_ptr<Log>> opened = Log::Open(fs, dir, options, kBeginning, nullptr, nullptr);
  if (!opened.ok()) Fail(opened.status());
  Log& log = **opened;

  const std::string payload(kRecordBytes * batch, 'x');
  std::vector<double> micros;
  std::uint64_t bytes_since_drop = 0;
  const double cpu_before = CpuMicros();
  const SteadyClock::time_point begin = SteadyClock::now();
  while (Micros(SteadyClock::now() - begin) < seconds * 1e6) {
    const SteadyClock::time_point start = SteadyClock::now();
    const StatusOr<Position> position = log.Append(payload);
    if (!position.ok()) Fail(position.status());
    if (const Status synced = log.Sync(); !synced.ok()) Fail(synced);
    micros.push_back(Micros(SteadyClock::now() - start));
    bytes_since_drop += payload.size();
    if (bytes_since_drop > kDropEveryBytes) {
      bytes_since_drop = 0;
      if (const Status dropped = log.DropBefore(*position); !dropped.ok()) Fail(dropped);
    }
  }
  const double wall = Micros(SteadyClock::now() - begin);
  const double cpu = CpuMicros() - cpu_before;
  std::sort(micros.begin(), micros.end());
  const auto at = [&](double q) {
    return micros[static_cast<std::size_t>(q * static_cast<double>(micros.size() - 1))];
  };
  const auto frames = static_cast<double>(micros.size());
  std::printf(
      "batch %4zu: %8.1f us/frame mean, p50 %.0f p99 %.0f p99.9 %.0f max %.0f us; %8.0f frames/s, "
      "%6.1f MB/s, cpu %.2f us/record\n",
      batch, wall / frames, at(0.5), at(0.99), at(0.999), at(1.0), frames / wall * 1e6,
      frames * static_cast<double>(payload.size()) / wall,
      cpu / frames / static_cast<double>(batch));
  const Position end = log.usage().end;
  opened->reset();
  RecoveryReport report;
  const SteadyClock::time_point reopen = SteadyClock::now();
  opened = Log::Open(fs, dir, options, end, nullptr, &report);
  if (!opened.ok()) Fail(opened.status());
  std::printf("            %8.1f ms to open %llu segments again, nothing to replay\n",
              Micros(SteadyClock::now() - reopen) / 1000,
              static_cast<unsigned long long>(report.segments));
  opened->reset();

  const StatusOr<std::vector<std::string>> names = fs.List(dir);
  if (!names.ok()) Fail(names.status());
  for (const std::string& name : *names) {
    if (const Status removed = fs.Remove(env::JoinPath(dir, name)); !removed.ok()) Fail(removed);
  }
  if (const Status removed = fs.Remove(dir); !removed.ok()) Fail(removed);
}

}  // namespace
}  // namespace sluice::log

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [SECONDS_EACH]\n", argv[0]);
    return 2;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  sluice::env::PosixFileSystem fs;
  for (const std::size_t batch : {1u, 16u, 128u}) {
    sluice::log::Measure(fs, sluice::env::JoinPath(argv[1], "sluice-log-bench"), batch, seconds);
  }
  return 0;
}
