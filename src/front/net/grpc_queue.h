// SPDX-License-Identifier: Apache-2.0
#pragma once

// gRPC's events and the threads that take them, for services that answer later and
// from elsewhere. gRPC's callback API would do the same with two threads at least,
// which compete for the work of one: on two cores each reply then wakes a thread
// (docs/adr/0003). Here the threads are ours, and what others post together costs one
// wake-up.
//
// Threading: Post, IsOwnThread, Enter and Leave from any thread.
// Ownership: of the completion queue; events belong to whoever made them.

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace grpc {
class ServerBuilder;
}  // namespace grpc

namespace sluice::front::net {

/// The next step of a call; its address is the tag of gRPC's event.
class GrpcEvent {
 public:
  /// On a thread of the queue. `is_ok` is what gRPC says of the event; true for posted
  /// ones. The event may be gone when it returns.
  virtual void Happen(bool is_ok) = 0;

 protected:
  ~GrpcEvent() = default;
};

class GrpcQueue {
 public:
  explicit GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  GrpcQueue(const GrpcQueue&) = delete;
  GrpcQueue& operator=(const GrpcQueue&) = delete;
  /// Requires: Stop was called, or Start never.
  ~GrpcQueue();

  [[nodiscard]] grpc::ServerCompletionQueue* completion_queue() { return queue_.get(); }
  [[nodiscard]] bool IsOwnThread() const;

  void Start(int threads);

  /// Lets `event` happen on a thread of the queue.
  /// Requires: the caller has entered, or the poster is waited for in another way.
  void Post(GrpcEvent* event);

  /// Whoever may still start an operation or post has entered; Stop waits for all to leave.
  void Enter();
  void Leave();

  /// Ends the threads when all who entered have left.
  /// Requires: the server was shut down, which is what makes them leave.
  void Stop();

 private:
  class Wakeup final : public GrpcEvent {
   public:
    explicit Wakeup(GrpcQueue* owner) : owner_(owner) {}
    void Happen(bool is_ok) override;

   private:
    GrpcQueue* const owner_;
  };

  void Run();

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::thread> threads_;

  std::mutex post_mutex_;  // guards the three below
  std::vector<GrpcEvent*> posted_;
  bool is_waking_ = false;
  grpc::Alarm alarm_;
  Wakeup wakeup_{this};

  std::mutex entered_mutex_;  // guards the two below
  std::condition_variable all_left_;
  std::size_t entered_ = 0;
};

/// A service as the server starts it.
class GrpcService {
 public:
  virtual ~GrpcService() = default;
  /// Before the server starts.
  virtual void Register(grpc::ServerBuilder& builder) = 0;
  /// Once, after the start: waits for calls from now on.
  virtual void Listen(GrpcQueue& queue) = 0;
};

}  // namespace sluice::front::net
