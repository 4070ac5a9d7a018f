// SPDX-License-Identifier: Apache-2.0
#include "sluice/gcp/unary_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire.h"

namespace sluice::gcp {

// Callbacks run on threads that gRPC joins when the last channel of the process goes.
// A callback that drops the last reference to a channel would join itself, so it holds
// none: channels and stubs are the client's, which outlives its calls, and a call's
// context, which also refers to its channel, ends before the call is counted as over.
struct UnaryClient::State {
  std::shared_ptr<ChannelPool> pool;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::mutex mutex;  // guards the rest
  std::condition_variable idle;
  std::set<Call*> calls;
  bool is_closed = false;
};

// Lives as long as its caller likes, also longer than the client.
class UnaryClient::Call : public PendingCall {
 public:
  Call() : context_(std::in_place) {}

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }
  // For whoever starts the call; until End.
  grpc::ClientContext* context() { return &*context_; }
  void End() {
    const std::lock_guard lock(mutex_);
    context_.reset();
  }

  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  std::size_t channel = 0;
  Done done;

 private:
  std::mutex mutex_;
  std::optional<grpc::ClientContext> context_;  // guarded
};

UnaryClient::UnaryClient(std::shared_ptr<ChannelPool> pool) : state_(std::make_unique<State>()) {
  for (std::size_t i = 0; i < pool->size(); ++i) {
    state_->stubs.push_back(std::make_unique<grpc::GenericStub>(pool->channel(i)));
  }
  state_->pool = std::move(pool);
}

UnaryClient::~UnaryClient() { Close(absl::ZeroDuration()); }

std::shared_ptr<PendingCall> UnaryClient::Send(const Method& method, std::string_view resource,
                                               std::string_view request, Duration timeout,
                                               Done done) {
  auto call = std::make_shared<Call>();
  bool is_closed = false;
  {
    const std::lock_guard lock(state_->mutex);
    is_closed = state_->is_closed;
    if (!is_closed) state_->calls.insert(call.get());
  }
  if (is_closed) {
    done(Unavailable("the client of {} is closed", resource));
    return call;
  }
  call->done = std::move(done);
  const grpc::Slice slice(request.data(), request.size());
  call->request = grpc::ByteBuffer(&slice, 1);
  SetDeadline(timeout, call->context());
  call->context()->AddMetadata("x-goog-request-params",
                               RoutingHeader(method.routing_key, resource));
  call->channel = state_->pool->Acquire();
  state_->stubs[call->channel]->UnaryCall(call->context(), method.path, grpc::StubOptions(),
                                          &call->request, &call->response,
                                          [call, state = state_.get()](const grpc::Status& status) {
                                            state->pool->Release(call->channel);
                                            call->End();
                                            Done finish = std::move(call->done);
                                            finish(ToStatus(status));
                                            const std::lock_guard lock(state->mutex);
                                            state->calls.erase(call.get());
                                            if (state->calls.empty()) state->idle.notify_all();
                                          });
  return call;
}

std::size_t UnaryClient::Close(Duration limit) {
  std::unique_lock lock(state_->mutex);
  state_->is_closed = true;
  const auto is_idle = [this] { return state_->calls.empty(); };
  if (state_->idle.wait_for(lock, absl::ToChronoMilliseconds(limit), is_idle)) return 0;
  const std::size_t left = state_->calls.size();
  for (Call* call : state_->calls) call->Cancel();
  state_->idle.wait(lock, is_idle);
  return left;
}

}  // namespace sluice::gcp
