// SPDX-License-Identifier: Apache-2.0
#include "front/net/grpc_queue.h"

#include <utility>

#include "base/status.h"
#include "front/net/thread_signals.h"

namespace sluice::front::net {
namespace {

thread_local const GrpcQueue* queue_of_this_thread = nullptr;

}  // namespace

GrpcQueue::GrpcQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : queue_(std::move(queue)) {}

GrpcQueue::~GrpcQueue() {
  SLUICE_CHECK(threads_.empty(), "the queue is stopped before it goes");
  // gRPC wants a queue that was shut down and read to its end, also one never used.
  queue_->Shutdown();
  void* tag = nullptr;
  bool is_ok = false;
  while (queue_->Next(&tag, &is_ok)) {
  }
}

bool GrpcQueue::IsOwnThread() const { return queue_of_this_thread == this; }

void GrpcQueue::Start(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] {
      BlockSignalsInThisThread();
      Run();
    });
  }
}

void GrpcQueue::Run() {
  queue_of_this_thread = this;
  void* tag = nullptr;
  bool is_ok = false;
  while (queue_->Next(&tag, &is_ok)) static_cast<GrpcEvent*>(tag)->Happen(is_ok);
}

void GrpcQueue::Post(GrpcEvent* event) {
  const std::lock_guard lock(post_mutex_);
  posted_.push_back(event);
  if (is_waking_) return;
  is_waking_ = true;
  // A time that has passed: the event comes at once.
  alarm_.Set(queue_.get(), gpr_time_0(GPR_CLOCK_MONOTONIC), static_cast<GrpcEvent*>(&wakeup_));
}

void GrpcQueue::Wakeup::Happen(bool /*is_ok*/) {
  std::vector<GrpcEvent*> batch;
  while (true) {
    {
      const std::lock_guard lock(owner_->post_mutex_);
      batch.clear();
      batch.swap(owner_->posted_);
      if (batch.empty()) {
        owner_->is_waking_ = false;
        return;
      }
    }
    for (GrpcEvent* event : batch) event->Happen(true);
  }
}

void GrpcQueue::Enter() {
  const std::lock_guard lock(entered_mutex_);
  ++entered_;
}

void GrpcQueue::Leave() {
  const std::lock_guard lock(entered_mutex_);
  if (--entered_ == 0) all_left_.notify_all();
}

void GrpcQueue::Stop() {
  {
    std::unique_lock lock(entered_mutex_);
    all_left_.wait(lock, [this] { return entered_ == 0; });
  }
  queue_->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace sluice::front::net
