// SPDX-License-Identifier: Apache-2.0
#include "engine/reader_pool.h"

#include <utility>

namespace sluice::engine {

ReaderPool::ReaderPool(std::size_t threads, const store::Store& store, Inbox& lane)
    : store_(store), lane_(lane) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

ReaderPool::~ReaderPool() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReaderPool::Read(ReadRequest request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  changed_.notify_one();
}

void ReaderPool::Run() {
  while (true) {
    ReadRequest request;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !requests_.empty() || is_stopping_; });
      if (is_stopping_) return;  // nobody waits for the answers any more
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    lane_.PutAnswer(RunRead(store_, request));
  }
}

}  // namespace sluice::engine
