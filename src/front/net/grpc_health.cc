// SPDX-License-Identifier: Apache-2.0
#include "front/net/grpc_health.h"

#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <mutex>
#include <set>
#include <string>

namespace sluice::front::net {
namespace {

namespace health = grpc::health::v1;
using Answer = health::HealthCheckResponse;

}  // namespace

class GrpcHealth::State {
 public:
  class Check;
  class Watch;

  // The status under a name; the caller holds `mutex`.
  [[nodiscard]] Answer::ServingStatus StatusOf(const std::string& name) const {
    if (!name.empty()) return Answer::SERVICE_UNKNOWN;
    return is_serving ? Answer::SERVING : Answer::NOT_SERVING;
  }

  health::Health::AsyncService service;
  GrpcQueue* queue = nullptr;

  std::mutex mutex;  // guards the rest
  bool is_serving = false;
  bool is_ending = false;
  std::set<Watch*> watches;
};

// One call of Check.
class GrpcHealth::State::Check final : public GrpcEvent {
 public:
  explicit Check(State* state) : state_(state) {
    state_->queue->Enter();
    grpc::ServerCompletionQueue* const queue = state_->queue->completion_queue();
    state_->service.RequestCheck(&context_, &request_, &writer_, queue, queue,
                                 static_cast<GrpcEvent*>(this));
  }
  ~Check() { state_->queue->Leave(); }

  void Happen(bool is_ok) override {
    if (!is_ok || is_answered_) return delete this;
    new Check(state_);
    is_answered_ = true;
    Answer answer;
    {
      const std::lock_guard lock(state_->mutex);
      answer.set_status(state_->StatusOf(request_.service()));
    }
    void* const tag = static_cast<GrpcEvent*>(this);
    if (answer.status() == Answer::SERVICE_UNKNOWN) {
      return writer_.FinishWithError(
          {grpc::StatusCode::NOT_FOUND, "there is no service \"" + request_.service() + "\""}, tag);
    }
    writer_.Finish(answer, grpc::Status::OK, tag);
  }

 private:
  State* const state_;
  bool is_answered_ = false;
  grpc::ServerContext context_;
  health::HealthCheckRequest request_;
  grpc::ServerAsyncResponseWriter<Answer> writer_{&context_};
};

// One stream of Watch. At most one operation is under way; what changes meanwhile is
// looked at when it is done.
class GrpcHealth::State::Watch final : public GrpcEvent {
 public:
  explicit Watch(State* state) : state_(state) {
    state_->queue->Enter();
    context_.AsyncNotifyWhenDone(static_cast<GrpcEvent*>(&ended_));
    grpc::ServerCompletionQueue* const queue = state_->queue->completion_queue();
    state_->service.RequestWatch(&context_, &request_, &writer_, queue, queue,
                                 static_cast<GrpcEvent*>(this));
  }
  ~Watch() { state_->queue->Leave(); }

  void Happen(bool is_ok) override {
    if (!is_listening_) return Continue(is_ok);
    is_listening_ = false;
    if (!is_ok) return delete this;  // the server stops; gRPC does not say "ended" then
    new Watch(state_);
    {
      const std::lock_guard lock(state_->mutex);
      state_->watches.insert(this);
    }
    Continue(true);
  }

  /// Something changed; the caller holds the state's mutex.
  void Wake() {
    if (is_busy_) return;
    is_busy_ = true;
    state_->queue->Post(this);
  }

 private:
  class Ended final : public GrpcEvent {
   public:
    explicit Ended(Watch* watch) : watch_(watch) {}
    void Happen(bool /*is_ok*/) override {
      {
        const std::lock_guard lock(watch_->state_->mutex);
        watch_->is_over_ = true;
        if (watch_->is_busy_) return;  // Continue finds it
        watch_->state_->watches.erase(watch_);
      }
      delete watch_;
    }

   private:
    Watch* const watch_;
  };

  // The operation before is done, or somebody woke an idle stream.
  void Continue(bool is_ok) {
    std::unique_lock lock(state_->mutex);
    if (is_finishing_ || !is_ok) is_written_out_ = true;
    if (is_over_) {
      state_->watches.erase(this);
      lock.unlock();
      return delete this;
    }
    is_busy_ = !is_written_out_;
    if (is_written_out_) return;
    void* const tag = static_cast<GrpcEvent*>(this);
    const Answer::ServingStatus status = state_->StatusOf(request_.service());
    if (status != told_) {
      told_ = status;
      Answer answer;
      answer.set_status(status);
      return writer_.Write(answer, tag);
    }
    if (!state_->is_ending) {
      is_busy_ = false;
      return;
    }
    is_finishing_ = true;
    writer_.Finish({grpc::StatusCode::UNAVAILABLE, "the server is stopping"}, tag);
  }

  State* const state_;
  Ended ended_{this};
  grpc::ServerContext context_;
  health::HealthCheckRequest request_;
  grpc::ServerAsyncWriter<Answer> writer_{&context_};
  bool is_listening_ = true;  // the queue's threads only
  // Guarded by the state's mutex:
  Answer::ServingStatus told_ = Answer::UNKNOWN;
  bool is_busy_ = true;          // an operation is under way, or posted
  bool is_finishing_ = false;    // the last one
  bool is_written_out_ = false;  // nothing more can be sent
  bool is_over_ = false;         // gRPC said that the call ended
};

GrpcHealth::GrpcHealth() : state_(std::make_unique<State>()) {}
GrpcHealth::~GrpcHealth() = default;

void GrpcHealth::Register(grpc::ServerBuilder& builder) {
  builder.RegisterService(&state_->service);
}

void GrpcHealth::Listen(GrpcQueue& queue) {
  state_->queue = &queue;
  new State::Check(state_.get());
  new State::Watch(state_.get());
}

void GrpcHealth::SetServing(bool is_serving) {
  const std::lock_guard lock(state_->mutex);
  state_->is_serving = is_serving;
  for (State::Watch* watch : state_->watches) watch->Wake();
}

void GrpcHealth::EndWatches() {
  const std::lock_guard lock(state_->mutex);
  state_->is_ending = true;
  for (State::Watch* watch : state_->watches) watch->Wake();
}

}  // namespace sluice::front::net
