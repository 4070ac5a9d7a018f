// SPDX-License-Identifier: Apache-2.0
#pragma once

// Queues of both API versions to and from the core's model. Knows the service's
// defaults and which fields of a queue are refused for now; bounds of rates,
// counts and intervals are checked where the stored queue is known, in the core.
//
// Threading: pure functions.

#include "base/status.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"
#include "front/tasks/api.h"
#include "front/tasks/field_mask.h"

namespace sluice::front {

/// The settings that `queue` gives to the selected fields; a field without a value
/// gets the service's default. Output-only fields, the name and v2's
/// max_burst_size are passed over (spec 1.6 VQ10, 1.8).
/// Errors: INVALID_ARGUMENT for values that are none; UNIMPLEMENTED naming the
/// field for pull queues.
template <typename Queue>
StatusOr<core::QueuePatch> DecodeQueueSettings(const Queue& queue, const FieldSelection& selection);

template <typename Queue>
void EncodeQueue(const core::Queue& queue, Queue* out);
/// Nothing in v2, which has no such field (spec 2.10).
template <typename Queue>
void EncodeQueueStats(const core::QueueStats& stats, Queue* out);

/// A task's own retry settings, what it leaves open taken from `defaults`.
/// Errors: INVALID_ARGUMENT naming the field below `field`.
template <typename RetryConfig>
StatusOr<core::RetryConfig> DecodeTaskRetry(const RetryConfig& in,
                                            const core::RetryConfig& defaults,
                                            std::string_view field);
/// True when DecodeTaskRetry would use its `defaults`.
template <typename RetryConfig>
[[nodiscard]] bool LeavesRetryOpen(const RetryConfig& in);

template <typename RetryConfig>
void EncodeRetry(const core::RetryConfig& retry, RetryConfig* out);

}  // namespace sluice::front
