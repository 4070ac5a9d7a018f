// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the edges may ask of a lane, and what it answers. Plain values, already
// validated by the front as far as no state is needed.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "base/names.h"
#include "base/status.h"
#include "core/tasks/machine.h"

namespace sluice::engine {

struct CreateQueue {
  QueueName name;
  core::QueuePatch settings;
};
struct UpdateQueue {
  QueueName name;
  core::QueuePatch patch;
};
struct GetQueue {
  QueueName name;
};
/// Answered with at most `count_max` queues after `after_id`; fewer mean the end.
struct ListQueues {
  LocationName parent;
  std::string after_id;
  std::size_t count_max = 0;
};
struct DeleteQueue {
  QueueName name;
};
struct PauseQueue {
  QueueName name;
};
struct ResumeQueue {
  QueueName name;
};
struct PurgeQueue {
  QueueName name;
};
/// As core::TaskMachine::SetAccessPolicy.
struct SetAccessPolicy {
  QueueName name;
  std::string policy;
  std::string etag;
};
struct CreateTask {
  QueueName queue;
  core::NewTask task;
};
struct GetTask {
  TaskName name;
};
struct DeleteTask {
  TaskName name;
};
struct RunTask {
  TaskName name;
};
struct ExplainTask {
  TaskName name;
};
/// In creation order, tasks created after the one with sequence `after`.
struct ListTasks {
  QueueName queue;
  core::Sequence after = 0;
  std::size_t count_max = 0;
};
/// One step each; the answer says where the next one goes on.
struct ListDeadLetters {
  QueueName queue;
  core::DeadLetterSelection selection;
};
struct RedriveDeadLetters {
  QueueName queue;
  core::DeadLetterSelection selection;
};
struct DeleteDeadLetters {
  QueueName queue;
  core::DeadLetterSelection selection;
};
/// Figures of these queues, in the order given and without those that do not
/// exist; of every queue when there is no list.
struct CollectStats {
  std::optional<std::vector<QueueName>> queues;
};

using Command = std::variant<CreateQueue, UpdateQueue, GetQueue, ListQueues, DeleteQueue,
                             PauseQueue, ResumeQueue, PurgeQueue, SetAccessPolicy, CreateTask,
                             GetTask, DeleteTask, RunTask, ExplainTask, ListTasks, ListDeadLetters,
                             RedriveDeadLetters, DeleteDeadLetters, CollectStats>;

struct TaskPage {
  std::vector<core::Task> tasks;
  core::Sequence next_after = 0;  // zero: the listing is complete
};
struct NamedStats {
  QueueName name;
  core::QueueState state = core::QueueState::kRunning;
  core::QueueStats stats;
};

/// DeleteQueue and DeleteTask answer with nothing, ListQueues and CollectStats
/// with a vector, everything else with the resource.
using Result =
    std::variant<std::monostate, core::Queue, core::Task, core::Explanation, TaskPage,
                 std::vector<core::Queue>, std::vector<NamedStats>, core::DeadLetterStep>;
using Reply = StatusOr<Result>;

/// Runs once, on the lane's thread (or on the caller's when the inbox is full),
/// after everything the reply rests on is durable. Must not block.
using Done = absl::AnyInvocable<void(Reply)>;

}  // namespace sluice::engine
