// SPDX-License-Identifier: Apache-2.0
//
// The eager writer with its real client over several queues of a server: records spread
// evenly, and nine of ten to one queue. One writer and one client serve them all.
//
// Usage: sluice_bench_sink_routes HOST:PORT RECORDS QUEUE...
// Prints one line of JSON: the rates of both.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "env/posix/clock.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "sluice/sink/cloud_tasks_sink.h"
#include "sluice/sink/http_target.h"

namespace {

using namespace sluice;

struct Record {
  std::size_t queue = 0;
  std::string body;
};
using Sink = sink::CloudTasksSink<Record>;

class ByQueue : public sink::DestinationResolver<Record> {
 public:
  explicit ByQueue(std::vector<sink::QueueDestination> queues) : queues_(std::move(queues)) {}
  StatusOr<const sink::QueueDestination*> Resolve(const Record& record,
                                                  const sink::WriteContext&) override {
    return &queues_[record.queue];
  }

 private:
  std::vector<sink::QueueDestination> queues_;
};

class Body : public sink::ByteSerializer<Record> {
 public:
  StatusOr<std::optional<std::string>> Serialize(const Record& record) override {
    return std::optional<std::string>(record.body);
  }
  [[nodiscard]] std::string_view name() const override { return "Body"; }
};

template <typename T>
T Take(StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  fmt::print(stderr, "{}\n", Message(value.status()));
  std::_Exit(1);
}

void Check(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", Message(status));
  std::_Exit(1);
}

double Rate(const Sink& sink, std::int64_t records, std::size_t queues, bool is_skewed) {
  sink::MetricRegistry metrics;
  const env::SystemClock wall;
  const env::SteadyClock steady;
  env::SystemRandom random;
  const sink::HostServices host{
      std::make_shared<sink::ThreadMailbox>(), &metrics, &wall, &steady, &random, 0};
  const auto writer = Take(sink.OpenWriter(host, sink::MakeClient(sink.settings(), steady)));
  Record record{.queue = 0, .body = std::string(1024, 'x')};
  const env::MonotonicTime begin = steady.Now();
  for (std::int64_t i = 0; i < records; ++i) {
    const auto turn = static_cast<std::size_t>(i);
    record.queue = is_skewed && turn % 10 != 0 ? 0 : (turn / (is_skewed ? 10 : 1)) % queues;
    Check(writer->Write(Sink::Erase(record)));
  }
  Check(writer->Flush(true));
  const std::chrono::duration<double> took = steady.Now() - begin;
  Check(writer->Close());
  return static_cast<double>(records) / took.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: sluice_bench_sink_routes HOST:PORT RECORDS QUEUE...\n");
    return 2;
  }
  const std::int64_t records = std::atoll(argv[2]);
  std::vector<sink::QueueDestination> queues;
  for (int i = 3; i < argc; ++i) queues.push_back(Take(sink::QueueDestination::Parse(argv[i])));
  const std::size_t count = queues.size();
  const Sink sink = Take(Sink::Builder()
                             .destination_resolver(std::make_shared<ByQueue>(std::move(queues)))
                             .serializer(std::make_shared<sink::HttpTarget::Schema<Record>>(
                                 sink::HttpTarget::To("http://127.0.0.1:9/")
                                     .WithBody<Record>(std::make_shared<Body>())))
                             .endpoint(argv[1])
                             .writer_options(Take(sink::WriterOptions::Builder()
                                                      .set_max_in_flight_tasks(64)
                                                      .set_channel_pool_size(4)
                                                      .Build()))
                             .Build());
  Rate(sink, records / 10, count, false);  // warm
  const double even = Rate(sink, records, count, false);
  const double skewed = Rate(sink, records, count, true);
  fmt::print("{{\"even\": {:.0f}, \"skewed\": {:.0f}}}\n", even, skewed);
  return 0;
}
