// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every attempt whose outcome is not known yet, over all queues, also of tasks
// and queues that no longer exist: their requests still run. It enforces the
// server's own limits; those of a queue are the queue's.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "core/tasks/effects.h"
#include "core/tasks/model.h"

namespace sluice::core {

struct OpenAttempt {
  Incarnation queue = 0;
  Sequence sequence = 0;
  Attempt attempt;         // when it was due and when it was sent
  bool is_forced = false;  // by RunTask
  std::size_t bytes = 0;   // of the body it holds
};

class OpenAttempts {
 public:
  OpenAttempts(std::int32_t count_max, std::size_t bytes_max)
      : count_max_(count_max), bytes_max_(bytes_max) {}

  AttemptId Open(OpenAttempt attempt);
  /// Nothing for an id that is not open.
  std::optional<OpenAttempt> Close(AttemptId id);

  /// Whether another one may start. RunTask does not ask.
  [[nodiscard]] bool HasRoom() const { return count() < count_max_ && bytes_ < bytes_max_; }
  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(open_.size()); }

 private:
  std::int32_t count_max_;
  std::size_t bytes_max_;
  absl::flat_hash_map<AttemptId, OpenAttempt> open_;  // for lookup, never iterated
  AttemptId next_id_ = 1;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::core
