// SPDX-License-Identifier: Apache-2.0
#pragma once

// What queues and tasks of both API versions say about targets, to and from the core's
// model: HTTP and App Engine requests, tokens, routing, and a queue's overrides of them
// (../shared/spec: cloud tasks 1.6 VQ19 to VQ23, 1.7, 2.8, 2.9, 3.1).
//
// Threading: pure functions. Ownership: decoding a task's target takes strings out of its
// input.

#include <memory>

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/model.h"
#include "front/tasks/api.h"
#include "front/tasks/field_mask.h"

namespace sluice::front {

enum class TaskView { kBasic, kFull };

/// What `queue` gives to the selected fields of its HTTP target and its App Engine routing;
/// null when none is selected. Bounds are the core's to check.
/// Errors: INVALID_ARGUMENT naming the field for numbers that name nothing and for a token
/// without any part where the selection names no part of it.
template <typename Queue>
StatusOr<std::shared_ptr<const core::TargetPatch>> DecodeQueueTargets(
    const Queue& queue, const FieldSelection& selection);
template <typename Queue>
void EncodeQueueTargets(const core::QueueTargets& targets, Queue* out);

/// The target of a new task of a queue in `location`.
/// Errors: INVALID_ARGUMENT naming the field, also when there is no target.
template <typename Task>
StatusOr<core::HttpRequest> DecodeTarget(Task& task, const LocationName& location);
/// The target as a view shows it. Never changes after creation, so a create builds it
/// before its command goes to the lane.
template <typename Task>
void EncodeTarget(const core::HttpRequest& request, TaskView view, Task* out);

}  // namespace sluice::front
