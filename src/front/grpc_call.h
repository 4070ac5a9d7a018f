// SPDX-License-Identifier: Apache-2.0
#pragma once

// Unary calls of gRPC as the service objects see them. Each method keeps a few calls
// listening; one that gets a request listens anew in another and runs its method. It
// ends when the reply has gone to gRPC and gRPC has told how the call ended.
//
// Request and response lie on one arena: a CreateTask request is a dozen small objects
// that live and die together, and one block for all is cheaper than an allocation
// each. The strings' bytes stay on the heap, so a service may move a body out.
//
// Threading: Finish and IsCancelled from any thread; the rest on the queue's threads.
// Ownership: a call deletes itself; its method outlives it (GrpcQueue::Stop waits).

#include <google/protobuf/arena.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "front/call_gate.h"
#include "front/errors_grpc.h"
#include "front/net/grpc_queue.h"

namespace sluice::front {

/// One method of a service object, on a queue.
template <typename Request, typename Response>
struct GrpcUnaryMethod {
  using Writer = grpc::ServerAsyncResponseWriter<Response>;

  net::GrpcQueue* queue = nullptr;
  /// Asks gRPC for the next call; `tag` happens when it came.
  std::function<void(grpc::ServerContext*, Request*, Writer*, grpc::ServerCompletionQueue*, void*)>
      listen;
  std::function<void(Request&, Response&, Call&)> run;
};

template <typename Request, typename Response>
class GrpcUnaryCall final : public Call, private net::GrpcEvent {
 public:
  using Method = GrpcUnaryMethod<Request, Response>;

  static void Listen(const Method& method) { new GrpcUnaryCall(method); }

  [[nodiscard]] bool IsCancelled() const override { return is_cancelled_; }

  void Finish(Status status) override {
    status_ = std::move(status);
    stage_ = Stage::kReplying;
    // Elsewhere gRPC would write to the socket in the engine's lane.
    if (method_.queue->IsOwnThread()) return Reply();
    method_.queue->Post(this);
  }

 private:
  enum class Stage { kListening, kReplying, kReplied };

  /// Enough for a task with some headers; a larger one makes the arena grow.
  static constexpr std::size_t kBlockBytes = 3072;

  // When gRPC says that the call is over, for the client or altogether.
  class Ended final : public net::GrpcEvent {
   public:
    explicit Ended(GrpcUnaryCall* call) : call_(call) {}
    void Happen(bool /*is_ok*/) override {
      call_->is_cancelled_ = call_->context_.IsCancelled();
      call_->Release();
    }

   private:
    GrpcUnaryCall* const call_;
  };

  explicit GrpcUnaryCall(const Method& method)
      : method_(method),
        arena_(block_.data(), block_.size()),
        request_(google::protobuf::Arena::CreateMessage<Request>(&arena_)),
        response_(google::protobuf::Arena::CreateMessage<Response>(&arena_)) {
    method_.queue->Enter();
    context_.AsyncNotifyWhenDone(static_cast<net::GrpcEvent*>(&ended_));
    method_.listen(&context_, request_, &writer_, method_.queue->completion_queue(),
                   static_cast<net::GrpcEvent*>(this));
  }
  ~GrpcUnaryCall() { method_.queue->Leave(); }

  void Happen(bool is_ok) override {
    switch (stage_) {
      case Stage::kListening:
        if (!is_ok) return delete this;  // the server stops; gRPC does not say "ended" then
        Listen(method_);
        return method_.run(*request_, *response_, *this);
      case Stage::kReplying:
        return Reply();
      case Stage::kReplied:
        return Release();
    }
  }

  void Reply() {
    stage_ = Stage::kReplied;
    void* const tag = static_cast<net::GrpcEvent*>(this);
    if (status_.ok()) return writer_.Finish(*response_, grpc::Status::OK, tag);
    if (IsDropCall(status_)) context_.TryCancel();
    writer_.FinishWithError(ToGrpcStatus(status_), tag);
  }

  // Two events are due, the reply's and the call's end, in any order.
  void Release() {
    if (--events_due_ == 0) delete this;
  }

  const Method& method_;
  Stage stage_ = Stage::kListening;
  std::atomic<int> events_due_ = 2;
  std::atomic<bool> is_cancelled_ = false;
  Status status_;
  Ended ended_{this};
  grpc::ServerContext context_;
  typename Method::Writer writer_{&context_};
  alignas(std::max_align_t) std::array<char, kBlockBytes> block_;
  google::protobuf::Arena arena_;
  Request* const request_;
  Response* const response_;
};

/// A generated asynchronous service whose unary methods go to service objects.
template <typename AsyncService>
class GrpcUnaryService : public net::GrpcService {
 public:
  void Register(grpc::ServerBuilder& builder) override { builder.RegisterService(&service_); }
  void Listen(net::GrpcQueue& queue) override {
    for (const auto& listen : methods_) listen(queue);
  }

 protected:
  /// `request` is the generated member that asks for the method's next call.
  template <typename Base, typename Object, typename Request, typename Response>
  void Add(void (Base::*request)(grpc::ServerContext*, Request*,
                                 grpc::ServerAsyncResponseWriter<Response>*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*),
           Object* object, void (Object::*run)(Request&, Response&, Call&),
           int listening = kListening) {
    auto method = std::make_shared<GrpcUnaryMethod<Request, Response>>();
    method->listen = [this, request](auto* context, auto* message, auto* writer, auto* queue,
                                     void* tag) {
      (service_.*request)(context, message, writer, queue, queue, tag);
    };
    method->run = [object, run](Request& message, Response& response, Call& call) {
      (object->*run)(message, response, call);
    };
    methods_.push_back([method, listening](net::GrpcQueue& queue) {
      method->queue = &queue;
      for (int i = 0; i < listening; ++i) GrpcUnaryCall<Request, Response>::Listen(*method);
    });
  }

  /// Calls that listen at once; more arrive while they run, since each makes another.
  static constexpr int kListening = 2;

 private:
  AsyncService service_;
  std::vector<std::function<void(net::GrpcQueue&)>> methods_;
};

}  // namespace sluice::front
