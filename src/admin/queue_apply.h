// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes the queues of a running engine agree with the configuration file:
// creates what is missing, updates what differs, pauses and resumes as
// declared. Never deletes a queue and never touches a setting that is not
// declared. Doing it twice changes nothing the second time.
//
// Threading: blocks the calling thread until the changes are durable; must not
// run on the lane.
// Failure: queues are independent: one that cannot be applied is reported and
// the others go on.

#include <string>
#include <vector>

#include "admin/config.h"
#include "base/status.h"
#include "engine/engine.h"

namespace sluice::admin {

struct QueueChange {
  enum class Kind : std::uint8_t { kCreated, kUpdated };
  Kind kind = Kind::kCreated;
  QueueName name;
  /// `max_attempts 100 -> 5`, `state RUNNING -> PAUSED`; empty for a new queue
  /// without declared settings.
  std::vector<std::string> details;
};

struct ApplyReport {
  std::vector<QueueChange> changes;
  std::size_t unchanged = 0;
  std::vector<std::string> failures;  // each with the place in the file
};

ApplyReport ApplyQueues(const Config& config, engine::Engine& engine);

/// One line for people: `2 created, 1 updated, 5 unchanged`.
[[nodiscard]] std::string Summary(const ApplyReport& report);

}  // namespace sluice::admin
