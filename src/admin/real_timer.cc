// SPDX-License-Identifier: Apache-2.0
#include "admin/real_timer.h"

#include <utility>

namespace sluice::admin {

void RealTimer::After(Duration delay, Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_) {
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
      jobs_.emplace(std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(delay),
                    std::move(job));
      wake_.notify_one();
      return;
    }
  }
  job(/*is_early=*/true);
}

void RealTimer::Stop() {
  std::multimap<Instant, Job> left;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    left.swap(jobs_);
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  for (auto& [when, job] : left) job(/*is_early=*/true);
}

std::size_t RealTimer::waiting_count() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void RealTimer::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (jobs_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const Instant next = jobs_.begin()->first;
    if (std::chrono::steady_clock::now() < next) {
      wake_.wait_until(lock, next);
      continue;
    }
    Job job = std::move(jobs_.begin()->second);
    jobs_.erase(jobs_.begin());
    lock.unlock();
    job(/*is_early=*/false);
    lock.lock();
  }
}

}  // namespace sluice::admin
