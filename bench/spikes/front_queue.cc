// SPDX-License-Identifier: Apache-2.0

// Question: replies wait for a sync and are then given to gRPC in batches by
// another thread. Is a completion queue of our own, polled by one thread, cheaper
// for that than the callback API, with gRPC's other services beside it?
//
//   sluice_spike_front_queue callback|queue [alone]
//
// Prints `port N` and serves CreateTask as an echo until its input ends; a second
// thread answers what gathered once a millisecond. `alone` leaves health checks
// out. Drive it with sluice_bench_create_load and compare its CPU time a call.

#include <grpcpp/alarm.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace {

namespace tasks = google::cloud::tasks::v2;
using SteadyClock = std::chrono::steady_clock;

// What a lane with its log does to replies: holds them and lets them go together.
class Gatherer {
 public:
  Gatherer() : thread_([this] { Run(); }) {}
  ~Gatherer() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void Add(std::function<void()> reply) {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
    if (replies_.size() == 1) changed_.notify_one();
  }

 private:
  static constexpr std::chrono::microseconds kSync{700};

  void Run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      changed_.wait(lock, [this] { return is_stopping_ || !replies_.empty(); });
      // The time a disk takes; nothing else wakes this wait.
      std::condition_variable_any().wait_for(lock, kSync, [] { return false; });
      std::vector<std::function<void()>> batch;
      batch.swap(replies_);
      lock.unlock();
      for (const auto& reply : batch) reply();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> replies_;
  bool is_stopping_ = false;
  std::thread thread_;
};

class InlineReactor final : public grpc::ServerUnaryReactor {
 public:
  bool InternalInlineable() override { return true; }

 private:
  void OnDone() override { delete this; }
};

class CallbackEcho final : public tasks::CloudTasks::CallbackService {
 public:
  explicit CallbackEcho(Gatherer* gatherer) : gatherer_(gatherer) {}
  grpc::ServerUnaryReactor* CreateTask(grpc::CallbackServerContext*,
                                       const tasks::CreateTaskRequest* request,
                                       tasks::Task* response) override {
    *response = request->task();
    auto* const reactor = new InlineReactor;
    gatherer_->Add([reactor] { reactor->Finish(grpc::Status::OK); });
    return reactor;
  }

 private:
  Gatherer* const gatherer_;
};

// One call of the queue's way: its address is the tag of its events.
struct QueuedCall {
  grpc::ServerContext context;
  tasks::CreateTaskRequest request;
  tasks::Task response;
  grpc::ServerAsyncResponseWriter<tasks::Task> writer{&context};
  bool is_answered = false;
};

class QueueEcho {
 public:
  QueueEcho(tasks::CloudTasks::AsyncService* service,
            std::unique_ptr<grpc::ServerCompletionQueue> queue, Gatherer* gatherer)
      : service_(service), queue_(std::move(queue)), gatherer_(gatherer) {}

  void Run() {
    for (int i = 0; i < 64; ++i) Listen();
    void* tag = nullptr;
    bool is_ok = false;
    while (queue_->Next(&tag, &is_ok)) {
      if (tag == nullptr) {
        SendReplies();
        continue;
      }
      auto* const call = static_cast<QueuedCall*>(tag);
      if (call->is_answered || !is_ok) {
        delete call;
        continue;
      }
      Listen();
      call->is_answered = true;
      call->response = call->request.task();
      gatherer_->Add([this, call] { Reply(call); });
    }
  }

  void Shutdown() { queue_->Shutdown(); }

 private:
  void Listen() {
    auto* const call = new QueuedCall;
    service_->RequestCreateTask(&call->context, &call->request, &call->writer, queue_.get(),
                                queue_.get(), call);
  }
  void Reply(QueuedCall* call) {
    {
      const std::lock_guard lock(mutex_);
      replies_.push_back(call);
      if (is_alarmed_) return;
      is_alarmed_ = true;
    }
    alarm_.Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), nullptr);
  }
  void SendReplies() {
    while (true) {
      std::vector<QueuedCall*> batch;
      {
        const std::lock_guard lock(mutex_);
        if (replies_.empty()) {
          is_alarmed_ = false;
          return;
        }
        batch.swap(replies_);
      }
      for (QueuedCall* call : batch) call->writer.Finish(call->response, grpc::Status::OK, call);
    }
  }

  tasks::CloudTasks::AsyncService* const service_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Gatherer* const gatherer_;
  std::mutex mutex_;
  std::vector<QueuedCall*> replies_;
  bool is_alarmed_ = false;
  grpc::Alarm alarm_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "callback" && mode != "queue") {
    std::fprintf(stderr, "usage: %s callback|queue [alone]\n", argv[0]);
    return 2;
  }
  if (argc < 3) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  Gatherer gatherer;
  CallbackEcho callback(&gatherer);
  tasks::CloudTasks::AsyncService async;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  std::unique_ptr<QueueEcho> echo;
  if (mode == "queue") {
    builder.RegisterService(&async);
    echo = std::make_unique<QueueEcho>(&async, builder.AddCompletionQueue(), &gatherer);
  } else {
    builder.RegisterService(&callback);
  }
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::thread poller;
  if (echo != nullptr) poller = std::thread([&] { echo->Run(); });
  std::printf("port %d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown();
  if (echo != nullptr) {
    echo->Shutdown();
    poller.join();
  }
  return 0;
}
