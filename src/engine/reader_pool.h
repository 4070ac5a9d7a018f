// SPDX-License-Identifier: Apache-2.0
#pragma once

// The few threads that wait for the disk so that the lane never does.
//
// Threading: `Read` may be called from any thread; answers go to the inbox.
// The queue is bounded by the lane, which bounds its outstanding reads.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/inbox.h"
#include "engine/reads.h"
#include "store/store.h"

namespace sluice::engine {

class ReaderPool {
 public:
  ReaderPool(std::size_t threads, const store::Store& store, Inbox& lane);
  ~ReaderPool();
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  void Read(ReadRequest request);

 private:
  void Run();

  const store::Store& store_;
  Inbox& lane_;

  std::mutex mutex_;  // guards the two below
  std::condition_variable changed_;
  std::deque<ReadRequest> requests_;
  bool is_stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace sluice::engine
