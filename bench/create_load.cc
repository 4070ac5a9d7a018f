// SPDX-License-Identifier: Apache-2.0

// Load on a gRPC endpoint: unary calls with a fixed number outstanding over a
// few channels, one thread, one completion queue. The same loop drives CreateTask and
// its peer, a server that echoes the call, so that their ratio says what durability and
// semantics cost.
//
//   sluice_bench_create_load --target HOST:PORT --kind unnamed|named|get
//       [--calls N] [--outstanding N] [--channels N] [--body N]
//       [--queue NAME] [--url URL] [--schedule-in SECONDS] [--prefix P]
//
// Prints the line of latency_report.h. A call's time runs from when it was handed to gRPC.

#include <google/cloud/tasks/v2/cloudtasks.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/latency_report.h"

namespace {

using SteadyClock = sluice::bench::LatencyReport::Clock;
using google::cloud::tasks::v2::CreateTaskRequest;
using google::cloud::tasks::v2::GetTaskRequest;

struct Settings {
  std::string target;
  std::string kind;
  std::uint64_t calls = 50'000;
  std::uint64_t outstanding = 64;
  int channels = 4;
  std::size_t body_bytes = 1024;
  std::string queue = "projects/p/locations/l/queues/bench";
  std::string url = "http://127.0.0.1:9/";
  std::int64_t schedule_in_seconds = 3600;
  std::string prefix = "n";
};

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

class Load {
 public:
  explicit Load(const Settings& settings) : settings_(settings), report_(settings.calls) {
    for (int i = 0; i < settings.channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection each
      stubs_.push_back(std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
          settings.target, grpc::InsecureChannelCredentials(), arguments)));
    }
    request_.set_parent(settings.queue);
    auto* task = request_.mutable_task();
    task->mutable_http_request()->set_url(settings.url);
    task->mutable_http_request()->set_body(std::string(settings.body_bytes, 'x'));
    if (settings.schedule_in_seconds != 0) {
      const auto now = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::system_clock::now().time_since_epoch());
      task->mutable_schedule_time()->set_seconds(now.count() + settings.schedule_in_seconds);
    }
  }

  int Run() {
    const auto begin = SteadyClock::now();
    for (std::uint64_t i = 0; i < std::min(settings_.outstanding, settings_.calls); ++i) Start();
    while (report_.calls() < settings_.calls) {
      void* tag = nullptr;
      bool is_ok = false;
      if (!queue_.Next(&tag, &is_ok)) break;
      Finish(static_cast<Call*>(tag));
    }
    queue_.Shutdown();
    return report_.Print(settings_.kind, begin);
  }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    SteadyClock::time_point begin;
  };

  std::string Method() const {
    if (settings_.kind == "get") return "/google.cloud.tasks.v2.CloudTasks/GetTask";
    return "/google.cloud.tasks.v2.CloudTasks/CreateTask";
  }

  grpc::ByteBuffer NextRequest() {
    const std::string name =
        settings_.queue + "/tasks/" + settings_.prefix + std::to_string(started_);
    if (settings_.kind == "get") {
      GetTaskRequest get;
      get.set_name(name);
      return ToBuffer(get);
    }
    if (settings_.kind == "named") request_.mutable_task()->set_name(name);
    return ToBuffer(request_);
  }

  void Start() {
    auto* call = new Call;
    call->begin = SteadyClock::now();
    call->reader = stubs_[started_ % stubs_.size()]->PrepareUnaryCall(&call->context, Method(),
                                                                      NextRequest(), &queue_);
    ++started_;
    call->reader->StartCall();
    call->reader->Finish(&call->response, &call->status, call);
  }

  void Finish(Call* call) {
    report_.Add(call->begin);
    if (!call->status.ok()) report_.AddError(call->status.error_message());
    delete call;
    if (started_ < settings_.calls) Start();
  }

  const Settings settings_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  CreateTaskRequest request_;
  std::uint64_t started_ = 0;
  sluice::bench::LatencyReport report_;
};

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app{"Unary gRPC load with a fixed number of calls outstanding."};
  app.add_option("--target", s.target)->required();
  app.add_option("--kind", s.kind)->required()->check(CLI::IsMember({"unnamed", "named", "get"}));
  app.add_option("--calls", s.calls);
  app.add_option("--outstanding", s.outstanding);
  app.add_option("--channels", s.channels);
  app.add_option("--body", s.body_bytes);
  app.add_option("--queue", s.queue);
  app.add_option("--url", s.url);
  app.add_option("--schedule-in", s.schedule_in_seconds);
  app.add_option("--prefix", s.prefix);
  CLI11_PARSE(app, argc, argv);
  return Load(s).Run();
}
