// SPDX-License-Identifier: Apache-2.0
#pragma once

// When a failed task is tried again, and when it no longer is (spec 2.3).
// Pure functions; any thread. Nothing here overflows: times saturate.

#include <cstdint>

#include "core/tasks/model.h"

namespace sluice::core {

/// How long after its failure a task waits for the next attempt, having failed
/// `failed_attempts` times. Requires: failed_attempts >= 1.
[[nodiscard]] Duration RetryInterval(const RetryConfig& config, std::int32_t failed_attempts);

/// `interval` after `from`, at most the latest time the API can show.
[[nodiscard]] Time RetryTime(Time from, Duration interval);

/// Both limits are reached; a limit that is not set counts as reached, but two
/// of those never end a task.
[[nodiscard]] bool IsExhausted(const RetryConfig& config, const TaskProgress& progress, Time now);

/// The task's own settings, else the queue's.
[[nodiscard]] const RetryConfig& RetryConfigOf(const TaskBody& body, const QueueConfig& queue);

}  // namespace sluice::core
