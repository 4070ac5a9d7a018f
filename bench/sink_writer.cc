// SPDX-License-Identifier: Apache-2.0
//
// The eager writer alone: records per second on one core against a creator that stores
// everything at once, unnamed and named, and the growth of memory over the run.
//
// Usage: sluice_bench_sink_writer [RECORDS]   (10 million by default)

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "env/posix/clock.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "sluice/sink/cloud_tasks_sink.h"
#include "sluice/sink/http_target.h"

namespace {

using namespace sluice;
using Sink = sink::CloudTasksSink<std::string>;

class InstantCreator : public sink::TaskCreator {
 public:
  StatusOr<std::unique_ptr<sink::PendingCreate>> Create(
      const google::cloud::tasks::v2::CreateTaskRequest&, std::optional<env::MonotonicTime>,
      sink::CreateDone done) override {
    done(std::nullopt);
    return nullptr;
  }
  Status Close() override { return {}; }
};

class RecordAsBody : public sink::ByteSerializer<std::string> {
 public:
  StatusOr<std::optional<std::string>> Serialize(const std::string& record) override {
    return std::optional<std::string>(record);
  }
  [[nodiscard]] std::string_view name() const override { return "RecordAsBody"; }
};

std::int64_t ResidentKib() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * 4;
}

void Check(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", Message(status));
  std::_Exit(1);
}

void Run(std::string_view title, bool is_named, std::int64_t records) {
  auto builder = Sink::Builder();
  builder.queue(*sink::QueueDestination::Of("p", "l", "q"))
      .serializer(std::make_shared<sink::HttpTarget::Schema<std::string>>(
          sink::HttpTarget::To("https://worker.example/orders")
              .WithBody<std::string>(std::make_shared<RecordAsBody>())));
  if (is_named) {
    builder.task_id_extractor(
        [](const std::string& record) -> StatusOr<std::optional<std::string>> {
          return std::optional<std::string>(record.substr(0, 20));
        });
  }
  sink::MetricRegistry metrics;
  const env::SystemClock wall;
  const env::SteadyClock steady;
  env::SystemRandom random;
  const sink::HostServices host{
      std::make_shared<sink::ThreadMailbox>(), &metrics, &wall, &steady, &random, 0};
  auto writer = builder.Build()->OpenWriter(
      host, {.make_creator = []() -> StatusOr<std::unique_ptr<sink::TaskCreator>> {
               return std::make_unique<InstantCreator>();
             },
             .make_reader = nullptr});
  Check(writer.status());
  std::string record(1024, 'x');
  std::int64_t before_kib = 0;
  const env::MonotonicTime start = steady.Now();
  for (std::int64_t i = 0; i < records; ++i) {
    fmt::format_to_n(record.data(), 20, "{:020}", i);
    Check((*writer)->Write(Sink::Erase(record)));
    if (i == records / 10) before_kib = ResidentKib();
  }
  Check((*writer)->Flush(true));
  const std::chrono::duration<double> took = steady.Now() - start;
  fmt::print("{}: {:.0f} records/s, memory {:+} KiB after the first tenth\n", title,
             static_cast<double>(records) / took.count(), ResidentKib() - before_kib);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t records = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  Run("unnamed", false, records);
  Run("named", true, records);
  return 0;
}
