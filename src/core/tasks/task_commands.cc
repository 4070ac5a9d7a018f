// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_commands.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/tasks/dispatch.h"
#include "core/tasks/lifecycle.h"
#include "core/tasks/queue_config.h"
#include "core/tasks/task_lookup.h"

namespace sluice::core {

namespace {

std::string Describe(const QueueName& queue, const NewTask& task) {
  return task.task_id.empty() ? fmt::format("a task for queue {}", queue.ToString())
                              : fmt::format("task {}/tasks/{}", queue.ToString(), task.task_id);
}

/// Errors: INVALID_ARGUMENT.
StatusOr<Time> FirstScheduleTime(const MachineState& state, const QueueName& queue,
                                 const NewTask& task, Time now) {
  if (!task.schedule_time.has_value()) return now;
  const Time wanted = FloorToMicros(*task.schedule_time);
  if (wanted > now + state.limits.schedule_ahead_max + kScheduleAheadSlack) {
    return InvalidArgument("{}: schedule_time {} must be at most {} ahead of now, {}",
                           Describe(queue, task), absl::FormatTime(wanted, absl::UTCTimeZone()),
                           absl::FormatDuration(state.limits.schedule_ahead_max),
                           absl::FormatTime(now, absl::UTCTimeZone()));
  }
  return std::max(wanted, now);
}

}  // namespace

StatusOr<Task> CreateTask(MachineState& state, const QueueName& queue_name, NewTask& task,
                          Time now) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, queue_name));
  SLUICE_ASSIGN_OR_RETURN(const Time schedule_time,
                          FirstScheduleTime(state, queue_name, task, now));
  if (task.retry.has_value()) {
    SLUICE_ASSIGN_OR_RETURN(task.retry,
                            CheckedRetryConfig(Describe(queue_name, task), *task.retry));
  }
  SLUICE_ASSIGN_OR_RETURN(FreeName name, FindFreeName(state, *queue, task.task_id, now));

  // Nothing was changed so far; from here on nothing fails.
  auto body = std::make_shared<TaskBody>();
  body->sequence = name.sequence;
  body->task_id = std::move(name.task_id);
  body->create_time = now;
  body->schedule_time = schedule_time;
  body->dispatch_deadline = task.dispatch_deadline;
  body->request = std::move(task.request);
  body->retry = task.retry;
  body->is_generated_id = name.is_generated;

  state.next_sequence = name.sequence + 1;
  if (!name.is_generated) {
    if (name.leftover.has_value()) {
      state.ledger.EraseName(queue->incarnation(), body->task_id, *name.leftover);
      state.tombstones.Reused(queue->incarnation(), body->task_id);
    }
    state.ledger.PutName(queue->incarnation(), body->task_id,
                         NameEntry{.sequence = body->sequence});
    Sequence& floor = queue->counters.lookalike_floor;
    if (name.lookalike != 0 && (floor == 0 || name.lookalike < floor)) floor = name.lookalike;
  }
  Task created{.body = body, .progress = TaskProgress{.schedule_time = schedule_time}};
  AddTask(state, *queue, std::move(body));
  Replan(state, *queue);
  return created;
}

StatusOr<Task> GetTask(const MachineState& state, const TaskName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(FoundTask found, FindTask(state, name, now));
  return std::move(found.task);
}

Status DeleteTask(MachineState& state, const TaskName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(const FoundTask found, FindTask(state, name, now));
  EndTask(state, *found.queue, found.task, TaskEnd::kDeleted, now);
  Replan(state, *found.queue);
  return absl::OkStatus();
}

StatusOr<Task> RunTask(MachineState& state, const TaskName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(const FoundTask found, FindTask(state, name, now));
  Task started = StartFlight(state, *found.queue, found.task, /*is_forced=*/true, now);
  Replan(state, *found.queue);
  return started;
}

StatusOr<TaskMachine::Listing> BeginListing(const MachineState& state, const QueueName& name,
                                            Time now) {
  SLUICE_ASSIGN_OR_RETURN(const QueueRuntime* queue, FindQueue(state, name));
  return TaskMachine::Listing{
      .queue = queue->incarnation(),
      .first = std::max(queue->counters.body_floor, queue->queue.purged_through + 1),
      .purged_through = queue->queue.purged_through,
      .created_after = now - queue->queue.config.task_ttl,
  };
}

}  // namespace sluice::core
