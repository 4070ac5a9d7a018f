// SPDX-License-Identifier: Apache-2.0

// The peer of CreateTask in benchmarks: the same call on gRPC's callback API,
// answered at once with the task it was sent. What Sluice costs beyond it is
// Sluice's own: validation, decision, durability, and the hand-overs for them.
// It can also play a service far away, or tell how old tasks are when they come.
//
//   sluice_bench_echo [--streams N] [--delay-ms N] [--ages]
//
// Prints `port N` and serves until its input ends. `--streams` bounds the calls at once
// on a connection, `--delay-ms` holds each answer back. With `--ages` a body must begin
// with the microseconds since 1970 at which it was written, and the end prints one line of
// JSON: count, mean, p50 and p95 of the ages in milliseconds.

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace {

namespace tasks = google::cloud::tasks::v2;

struct Settings {
  int streams = 0;  // as many as the client likes
  int delay_ms = 0;
  bool has_ages = false;
};

/// Answers after a while.
class LateReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit LateReactor(int delay_ms) {
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::milliseconds(delay_ms),
               [this](bool /*is_due*/) { Finish(grpc::Status::OK); });
  }
  void OnDone() override { delete this; }

 private:
  grpc::Alarm alarm_;
};

class Echo final : public tasks::CloudTasks::CallbackService {
 public:
  explicit Echo(const Settings& settings) : settings_(settings) {}

  grpc::ServerUnaryReactor* CreateTask(grpc::CallbackServerContext* context,
                                       const tasks::CreateTaskRequest* request,
                                       tasks::Task* response) override {
    if (settings_.has_ages) NoteAge(request->task().http_request().body());
    *response = request->task();
    if (settings_.delay_ms > 0) return new LateReactor(settings_.delay_ms);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  void PrintAges() {
    const std::lock_guard lock(mutex_);
    std::sort(ages_ms_.begin(), ages_ms_.end());
    const auto at = [&](double q) {
      return ages_ms_.empty()
                 ? 0
                 : ages_ms_[static_cast<std::size_t>(q * static_cast<double>(ages_ms_.size() - 1))];
    };
    const double sum = std::accumulate(ages_ms_.begin(), ages_ms_.end(), 0.0);
    std::printf("{\"count\": %zu, \"mean_ms\": %.2f, \"p50_ms\": %.2f, \"p95_ms\": %.2f}\n",
                ages_ms_.size(),
                sum / static_cast<double>(std::max<std::size_t>(1, ages_ms_.size())), at(0.5),
                at(0.95));
  }

 private:
  void NoteAge(const std::string& body) {
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const auto written = std::strtoll(body.c_str(), nullptr, 10);
    const std::lock_guard lock(mutex_);
    ages_ms_.push_back(static_cast<double>(now.count() - written) / 1000);
  }

  const Settings settings_;
  std::mutex mutex_;
  std::vector<double> ages_ms_;  // guarded
};

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Answers CreateTask at once, or as a service far away would.");
  app.add_option("--streams", settings.streams);
  app.add_option("--delay-ms", settings.delay_ms);
  app.add_flag("--ages", settings.has_ages);
  CLI11_PARSE(app, argc, argv);

  Echo service(settings);
  int port = 0;
  grpc::ServerBuilder builder;
  if (settings.streams > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, settings.streams);
  }
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("port %d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown();
  if (settings.has_ages) service.PrintAges();
  return 0;
}
