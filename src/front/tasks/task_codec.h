// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tasks of both API versions to and from the core's model: validation of what a
// client sends (../shared/spec: cloud tasks 1.7), what is stored (3.1), what each
// view shows (1.11). The schedule's horizon is the core's to check.
//
// Threading: pure functions. Ownership: decoding takes strings out of its input.

#include <string>
#include <string_view>

#include "base/status.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"
#include "front/tasks/api.h"
#include "front/tasks/target_codec.h"

namespace sluice::front {

/// The largest task by the size of its stored form as a message (spec 3.9).
inline constexpr std::size_t kTaskBytesMax = 1'048'569;

/// Errors: INVALID_ARGUMENT for a number that names no view.
/// The versions number views alike.
StatusOr<TaskView> DecodeView(int view);

/// The task a client asks for, validated and completed, without its retry
/// settings (they need the queue's, see DecodeTaskRetry). `task` keeps its
/// name and retry settings. `parent` is the queue as named by the request.
/// Errors: INVALID_ARGUMENT naming the field.
template <typename Task>
StatusOr<core::NewTask> DecodeNewTask(Task& task, const QueueName& queue, std::string_view parent);

/// Refuses a task whose stored form is too large. `now` stands for an unset or
/// past schedule time. Errors: INVALID_ARGUMENT.
Status CheckTaskSize(const core::NewTask& task, std::string_view queue_name, Time now);
/// False when the task is so small that its exact size does not matter.
[[nodiscard]] bool IsTaskSizeNear(const core::NewTask& task, std::string_view queue_name);

/// Everything but the target. `name` is the task's full name.
template <typename Task>
void EncodeTaskFrame(std::string name, const core::Task& task, TaskView view, Task* out);
template <typename Task>
void EncodeTask(std::string name, const core::Task& task, TaskView view, Task* out);

/// Full name of a task of a queue.
[[nodiscard]] std::string FullTaskName(std::string_view queue_name, std::string_view task_id);

}  // namespace sluice::front
