// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/machine.h"

#include <algorithm>

#include "core/tasks/dispatch.h"
#include "core/tasks/expiry.h"
#include "core/tasks/explain.h"
#include "core/tasks/outcome.h"
#include "core/tasks/purge.h"
#include "core/tasks/queue_commands.h"
#include "core/tasks/state.h"
#include "core/tasks/task_commands.h"
#include "core/tasks/task_lookup.h"

// Routes every call to the file that knows the rule. All that happens here is
// that time never goes back and that answers for queues that are gone end.

namespace sluice::core {

class TaskMachine::Impl {
 public:
  Impl(const TaskLimits& limits, Ledger& ledger, Effects& effects)
      : state(limits, ledger, effects) {}

  /// `now` in whole microseconds, and not before any earlier call's.
  Time Tick(Time now) {
    state.now = std::max(state.now, FloorToMicros(now));
    return state.now;
  }

  MachineState state;
};

TaskMachine::TaskMachine(const TaskLimits& limits, Ledger& ledger, Effects& effects)
    : impl_(std::make_unique<Impl>(limits, ledger, effects)) {}
TaskMachine::~TaskMachine() = default;

// --- Recovery ---

void TaskMachine::RestoreCounters(Incarnation next_incarnation, Sequence next_sequence) {
  MachineState& state = impl_->state;
  state.next_incarnation = std::max(state.next_incarnation, next_incarnation);
  state.next_sequence = std::max(state.next_sequence, next_sequence);
}

void TaskMachine::RestoreGeneratedIdKey(std::uint64_t key) { impl_->state.id_key = key; }

void TaskMachine::RestoreQueue(const Queue& queue, const QueueCounters& counters, Time now) {
  core::RestoreQueue(impl_->state, queue, counters, impl_->Tick(now));
}

void TaskMachine::RestoreQueueReservation(const QueueName& name, Time until) {
  impl_->state.catalogue.Reserve(name, until);
}

void TaskMachine::RestoreDeadLetter(Incarnation queue, Sequence sequence,
                                    const DeadLetterHead& head) {
  impl_->state.dead_letters.Insert(queue, sequence, head);
}

void TaskMachine::RestoreTombstoneFloor(Time floor) { impl_->state.tombstones.RestoreFloor(floor); }

void TaskMachine::Start(Time now) {
  MachineState& state = impl_->state;
  impl_->Tick(now);
  state.tombstones.Start(state.now);
  for (const auto& [name, queue] : state.catalogue.by_name()) {
    ResumeCleaning(state, *queue);
    Replan(state, *queue);
  }
  core::Advance(state, state.now);
}

Incarnation TaskMachine::next_incarnation() const { return impl_->state.next_incarnation; }
Sequence TaskMachine::next_sequence() const { return impl_->state.next_sequence; }
Time TaskMachine::tombstone_floor() const { return impl_->state.tombstones.floor(); }

// --- Queues ---

StatusOr<Queue> TaskMachine::CreateQueue(const QueueName& name, const QueuePatch& settings,
                                         Time now) {
  return core::CreateQueue(impl_->state, name, settings, impl_->Tick(now));
}
StatusOr<Queue> TaskMachine::UpdateQueue(const QueueName& name, const QueuePatch& patch, Time now) {
  return core::UpdateQueue(impl_->state, name, patch, impl_->Tick(now));
}
StatusOr<Queue> TaskMachine::GetQueue(const QueueName& name) const {
  return core::GetQueue(impl_->state, name);
}
std::vector<Queue> TaskMachine::ListQueues(const LocationName& parent, std::string_view after_id,
                                           std::size_t count_max) const {
  return impl_->state.catalogue.List(parent, after_id, count_max);
}
Status TaskMachine::DeleteQueue(const QueueName& name, Time now) {
  return core::DeleteQueue(impl_->state, name, impl_->Tick(now));
}
StatusOr<Queue> TaskMachine::PauseQueue(const QueueName& name, Time now) {
  impl_->Tick(now);
  return SetQueueState(impl_->state, name, QueueState::kPaused);
}
StatusOr<Queue> TaskMachine::ResumeQueue(const QueueName& name, Time now) {
  impl_->Tick(now);
  return SetQueueState(impl_->state, name, QueueState::kRunning);
}
StatusOr<Queue> TaskMachine::PurgeQueue(const QueueName& name, Time now) {
  return core::PurgeQueue(impl_->state, name, impl_->Tick(now));
}

// --- Tasks ---

StatusOr<Task> TaskMachine::CreateTask(const QueueName& queue, const NewTask& task, Time now) {
  NewTask copy = task;
  return CreateTask(queue, std::move(copy), now);
}
StatusOr<Task> TaskMachine::CreateTask(const QueueName& queue, NewTask&& task, Time now) {
  return core::CreateTask(impl_->state, queue, task, impl_->Tick(now));
}
StatusOr<Task> TaskMachine::GetTask(const TaskName& name, Time now) {
  return core::GetTask(impl_->state, name, impl_->Tick(now));
}
Status TaskMachine::DeleteTask(const TaskName& name, Time now) {
  return core::DeleteTask(impl_->state, name, impl_->Tick(now));
}
StatusOr<Task> TaskMachine::RunTask(const TaskName& name, Time now) {
  return core::RunTask(impl_->state, name, impl_->Tick(now));
}
StatusOr<Explanation> TaskMachine::ExplainTask(const TaskName& name, Time now) {
  return core::ExplainTask(impl_->state, name, impl_->Tick(now));
}
StatusOr<DeadLetterStep> TaskMachine::ListDeadLetters(const QueueName& queue,
                                                      const DeadLetterSelection& selection,
                                                      Time now) {
  impl_->Tick(now);
  return core::ListDeadLetters(impl_->state, queue, selection);
}
StatusOr<DeadLetterStep> TaskMachine::RedriveDeadLetters(const QueueName& queue,
                                                         const DeadLetterSelection& selection,
                                                         Time now) {
  return core::RedriveDeadLetters(impl_->state, queue, selection, impl_->Tick(now));
}
StatusOr<DeadLetterStep> TaskMachine::DeleteDeadLetters(const QueueName& queue,
                                                        const DeadLetterSelection& selection,
                                                        Time now) {
  impl_->Tick(now);
  return core::DeleteDeadLetters(impl_->state, queue, selection);
}
const DeadLetterTotals& TaskMachine::dead_letter_totals() const {
  return impl_->state.dead_letters.totals;
}

StatusOr<TaskMachine::Listing> TaskMachine::BeginListing(const QueueName& queue, Time now) const {
  return core::BeginListing(impl_->state, queue, std::max(now, impl_->state.now));
}

// --- Answers to effects ---

void TaskMachine::AttemptFinished(AttemptId id, const AttemptOutcome& outcome, Time now) {
  core::AttemptFinished(impl_->state, id, outcome, impl_->Tick(now));
}

void TaskMachine::WindowLoaded(const LoadWindow& request, std::span<const ScheduleKey> entries,
                               bool is_complete, Time now) {
  impl_->Tick(now);
  QueueRuntime* queue = impl_->state.catalogue.Find(request.queue);
  if (queue != nullptr) {
    core::WindowLoaded(impl_->state, *queue, request, entries, is_complete);
  }
}

void TaskMachine::TasksLoaded(const LoadTasks& request, Time now) {
  impl_->Tick(now);
  QueueRuntime* queue = impl_->state.catalogue.Find(request.queue);
  if (queue != nullptr) core::TasksLoaded(impl_->state, *queue, request);
}

void TaskMachine::OldestFound(const FindOldest& request, const std::optional<Oldest>& oldest,
                              Time now) {
  impl_->Tick(now);
  QueueRuntime* queue = impl_->state.catalogue.Find(request.queue);
  if (queue == nullptr) return;
  core::OldestFound(impl_->state, *queue, oldest, impl_->state.now);
  Replan(impl_->state, *queue);
}

void TaskMachine::PurgedFound(const FindPurged& request, std::span<const Sequence> sequences,
                              bool is_complete, Time now) {
  impl_->Tick(now);
  QueueRuntime* queue = impl_->state.catalogue.Find(request.queue);
  if (queue == nullptr) return;
  core::PurgedFound(impl_->state, *queue, request, sequences, is_complete, impl_->state.now);
}

void TaskMachine::TombstonesFound(const FindTombstones& request,
                                  std::span<const Tombstone> tombstones, bool is_complete,
                                  Time now) {
  MachineState& state = impl_->state;
  impl_->Tick(now);
  state.tombstones.Found(request, tombstones, is_complete, state.now, state.ledger);
}

// --- Time ---

void TaskMachine::Advance(Time now) { core::Advance(impl_->state, impl_->Tick(now)); }
Time TaskMachine::NextDeadline() const { return core::NextDeadline(impl_->state); }

// --- Figures ---

StatusOr<Queue> TaskMachine::SetAccessPolicy(const QueueName& name, std::string_view policy,
                                             std::string_view etag) {
  return core::SetAccessPolicy(impl_->state, name, policy, etag);
}

StatusOr<QueueStats> TaskMachine::Stats(const QueueName& name, Time now) const {
  SLUICE_ASSIGN_OR_RETURN(const QueueRuntime* queue, FindQueue(impl_->state, name));
  QueueStats stats{.task_count = queue->counters.task_count,
                   .in_flight = queue->open_attempts,
                   .tokens = queue->bucket.TokensAt(now),
                   .executed_last_minute = queue->executed.Count(now),
                   .effective_rate =
                       queue->throttle.RateFor(queue->queue.config.rate.max_dispatches_per_second)};
  if (const DeadLetterIndex::Letters* letters =
          impl_->state.dead_letters.Find(queue->incarnation())) {
    stats.dead_letter_count = letters->heads.size();
    stats.dead_letter_bytes = letters->bytes;
  }
  if (!queue->window.empty()) stats.next_schedule_time = queue->window.front().time;
  return stats;
}

std::vector<QueueName> TaskMachine::QueueNames() const {
  std::vector<QueueName> names;
  for (const auto& [name, queue] : impl_->state.catalogue.by_name()) names.push_back(name);
  return names;
}

std::int32_t TaskMachine::in_flight() const { return impl_->state.attempts.count(); }

}  // namespace sluice::core
