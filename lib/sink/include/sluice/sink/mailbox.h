// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one way into the task thread. Client threads post; the task thread runs one
// mail at a time where it chooses to, so that a writer needs no lock.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "env/monotonic_clock.h"

namespace sluice::sink {

class Mailbox {
 public:
  using Mail = absl::AnyInvocable<void()>;

  virtual ~Mailbox() = default;

  /// From any thread. Mails run in the order of their posts.
  virtual void Post(Mail mail) = 0;

  /// Task thread only: runs one mail, waiting for it until `until` (for ever without
  /// it; a past time only looks). False when the time came first.
  virtual bool RunOneUntil(std::optional<env::MonotonicTime> until) = 0;
};

/// A mailbox over a condition variable and the machine's steady clock.
class ThreadMailbox : public Mailbox {
 public:
  void Post(Mail mail) override;
  bool RunOneUntil(std::optional<env::MonotonicTime> until) override;

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Mail> posted_;
  std::deque<Mail> taken_;  // task thread only, so that posters meet the lock rarely
};

}  // namespace sluice::sink
