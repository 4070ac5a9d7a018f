// SPDX-License-Identifier: Apache-2.0
#pragma once

// Queues of API version v2 to and from the core's model. Knows the service's
// defaults and which fields of a queue are refused for now; bounds of rates,
// counts and intervals are checked where the stored queue is known, in the core.
//
// Threading: pure functions.

#include "base/status.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"
#include "front/tasks/field_mask.h"
#include "google/cloud/tasks/v2/queue.pb.h"

namespace sluice::front {

/// The settings that `queue` gives to the selected fields; a field without a value
/// gets the service's default. Output-only fields, the name and max_burst_size
/// are passed over (spec 1.6 VQ10, 1.8).
/// Errors: INVALID_ARGUMENT for values that are none; UNIMPLEMENTED naming the
/// field for HTTP targets and App Engine routing.
StatusOr<core::QueuePatch> DecodeQueueSettings(const google::cloud::tasks::v2::Queue& queue,
                                               const FieldSelection& selection);

void EncodeQueue(const core::Queue& queue, google::cloud::tasks::v2::Queue* out);

/// A task's own retry settings, what it leaves open taken from `defaults`.
/// Errors: INVALID_ARGUMENT naming the field below `field`.
StatusOr<core::RetryConfig> DecodeTaskRetry(const google::cloud::tasks::v2::RetryConfig& in,
                                            const core::RetryConfig& defaults,
                                            std::string_view field);
/// True when DecodeTaskRetry would use its `defaults`.
[[nodiscard]] bool LeavesRetryOpen(const google::cloud::tasks::v2::RetryConfig& in);

void EncodeRetry(const core::RetryConfig& retry, google::cloud::tasks::v2::RetryConfig* out);

}  // namespace sluice::front
