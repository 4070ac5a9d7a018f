// SPDX-License-Identifier: Apache-2.0
#pragma once

// The settings of a queue: their defaults, how a patch changes them, what is
// refused (spec 1.6, 1.8, 2.1). Knows nothing of running queues.
//
// Pure functions; any thread. Failure: INVALID_ARGUMENT naming the queue or
// task, the field as the API spells it, the bound and the value.

#include <cstdint>
#include <string_view>

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"

namespace sluice::core {

/// The burst of a queue whose client gave none.
[[nodiscard]] std::int32_t DerivedBurst(double dispatches_per_second, const TaskLimits& limits);

/// What a queue created without any setting gets. Defaults that the operator's
/// limits forbid are lowered to them.
[[nodiscard]] QueueConfig DefaultQueueConfig(const TaskLimits& limits);

/// `base` with `patch` applied and checked as a whole. `is_new`: the burst is
/// derived unless given.
[[nodiscard]] StatusOr<QueueConfig> MergeQueueConfig(const QueueName& queue,
                                                     const QueueConfig& base,
                                                     const QueuePatch& patch,
                                                     const TaskLimits& limits, bool is_new);

/// `retry` of whole microseconds and with a zero max_attempts replaced, checked.
/// `owner`: how messages name what the settings belong to, as "queue q".
[[nodiscard]] StatusOr<RetryConfig> CheckedRetryConfig(std::string_view owner, RetryConfig retry);

}  // namespace sluice::core
