// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/mailbox.h"

#include <utility>

namespace sluice::sink {

void ThreadMailbox::Post(Mail mail) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = posted_.empty();
    posted_.push_back(std::move(mail));
  }
  if (was_empty) arrived_.notify_one();
}

bool ThreadMailbox::RunOneUntil(std::optional<env::MonotonicTime> until) {
  if (taken_.empty()) {
    std::unique_lock lock(mutex_);
    const auto something = [this] { return !posted_.empty(); };
    if (!until) {
      arrived_.wait(lock, something);
    } else if (!arrived_.wait_until(lock, *until, something)) {
      return false;
    }
    taken_.swap(posted_);
  }
  Mail mail = std::move(taken_.front());
  taken_.pop_front();
  mail();
  return true;
}

}  // namespace sluice::sink
