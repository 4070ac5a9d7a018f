// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/task_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "wire.h"

namespace sluice::gcp {
namespace {

constexpr const char* kCreateTask = "/google.cloud.tasks.v2.CloudTasks/CreateTask";

}  // namespace

struct TaskClient::Shared {
  std::shared_ptr<ChannelPool> pool;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::mutex mutex;  // guards the rest
  std::condition_variable idle;
  std::set<Call*> calls;
  bool is_closed = false;
};

class TaskClient::Call : public PendingCall {
 public:
  void Cancel() override { context.TryCancel(); }

  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  std::size_t channel = 0;
  Done done;
};

TaskClient::TaskClient(std::shared_ptr<ChannelPool> pool) : shared_(std::make_shared<Shared>()) {
  for (std::size_t i = 0; i < pool->size(); ++i) {
    shared_->stubs.push_back(std::make_unique<grpc::GenericStub>(pool->channel(i)));
  }
  shared_->pool = std::move(pool);
}

TaskClient::~TaskClient() { Close(absl::ZeroDuration()); }

std::shared_ptr<PendingCall> TaskClient::CreateTask(std::string_view queue,
                                                    std::string_view request, Duration timeout,
                                                    Done done) {
  auto call = std::make_shared<Call>();
  bool is_closed = false;
  {
    const std::lock_guard lock(shared_->mutex);
    is_closed = shared_->is_closed;
    if (!is_closed) shared_->calls.insert(call.get());
  }
  if (is_closed) {
    done(Unavailable("the client of {} is closed", queue));
    return call;
  }
  call->done = std::move(done);
  const grpc::Slice slice(request.data(), request.size());
  call->request = grpc::ByteBuffer(&slice, 1);
  SetDeadline(timeout, &call->context);
  call->context.AddMetadata("x-goog-request-params", RoutingHeader("parent", queue));
  call->channel = shared_->pool->Acquire();
  shared_->stubs[call->channel]->UnaryCall(&call->context, kCreateTask, grpc::StubOptions(),
                                           &call->request, &call->response,
                                           [call, shared = shared_](const grpc::Status& status) {
                                             shared->pool->Release(call->channel);
                                             Done finish = std::move(call->done);
                                             finish(ToStatus(status));
                                             const std::lock_guard lock(shared->mutex);
                                             shared->calls.erase(call.get());
                                             if (shared->calls.empty()) shared->idle.notify_all();
                                           });
  return call;
}

std::size_t TaskClient::Close(Duration limit) {
  std::unique_lock lock(shared_->mutex);
  shared_->is_closed = true;
  const auto is_idle = [this] { return shared_->calls.empty(); };
  if (shared_->idle.wait_for(lock, absl::ToChronoMilliseconds(limit), is_idle)) return 0;
  const std::size_t left = shared_->calls.size();
  for (Call* call : shared_->calls) call->Cancel();
  shared_->idle.wait(lock, is_idle);
  return left;
}

}  // namespace sluice::gcp
