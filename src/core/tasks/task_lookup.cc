// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_lookup.h"

#include <optional>

#include "core/tasks/task_id.h"

namespace sluice::core {

namespace {

std::uint64_t IdKey(const MachineState& state, const QueueRuntime& queue) {
  return QueueIdKey(state.id_key, queue.incarnation());
}

Status NeverExisted(const QueueRuntime& queue, std::string_view task_id) {
  return NotFound("task {}/tasks/{} does not exist", queue.queue.name.ToString(), task_id);
}

Status NoLongerExists(const QueueRuntime& queue, std::string_view task_id) {
  return NotFound(
      "task {}/tasks/{} no longer exists: it was executed, deleted, purged or given up, or it "
      "expired",
      queue.queue.name.ToString(), task_id);
}

Status NameTaken(const QueueRuntime& queue, std::string_view task_id, std::string_view why) {
  return AlreadyExists("task {}/tasks/{} {}", queue.queue.name.ToString(), task_id, why);
}

/// Whether a user can have taken the id of `sequence` before it was reached.
bool MayBeLookalike(const QueueRuntime& queue, Sequence sequence) {
  const Sequence floor = queue.counters.lookalike_floor;
  return floor != 0 && sequence >= floor;
}

/// The live task with `sequence` and this id. kAbsent: there is none.
Lookup FindLive(const MachineState& state, const QueueRuntime& queue, Sequence sequence,
                std::string_view task_id, Time now, Task* task) {
  if (queue.IsPurged(sequence)) return Lookup::kAbsent;
  if (const auto it = queue.flights.find(sequence); it != queue.flights.end()) {
    *task = it->second.task;
  } else {
    const Lookup lookup = state.ledger.FindTask(queue.incarnation(), sequence, task);
    if (lookup != Lookup::kFound) return lookup;
  }
  if (task->body->task_id != task_id || queue.IsExpired(*task->body, now)) return Lookup::kAbsent;
  return Lookup::kFound;
}

/// Errors: ALREADY_EXISTS.
StatusOr<FreeName> FindFreeUserName(const MachineState& state, const QueueRuntime& queue,
                                    std::string_view task_id, Time now) {
  FreeName name{.task_id = std::string(task_id), .sequence = state.next_sequence};
  if (const auto sequence = SequenceOfGeneratedId(task_id, IdKey(state, queue))) {
    if (*sequence < state.next_sequence) {
      return NameTaken(queue, task_id, "has an id that the service generated before");
    }
    name.lookalike = *sequence;
  }
  NameEntry entry;
  switch (state.ledger.FindName(queue.incarnation(), task_id, &entry)) {
    case Lookup::kCold:
      return ColdRead();
    case Lookup::kAbsent:
      return name;
    case Lookup::kFound:
      break;
  }
  if (!entry.reserved_until.has_value()) {
    // Purged names turn into tombstones when they are cleaned; until then they
    // look like this as well.
    return NameTaken(
        queue, task_id,
        queue.IsPurged(entry.sequence) ? "was purged and its name is still reserved" : "exists");
  }
  if (*entry.reserved_until > now) {
    return NameTaken(queue, task_id,
                     fmt::format("has ended and its name is reserved until {}",
                                 absl::FormatTime(*entry.reserved_until, absl::UTCTimeZone())));
  }
  name.leftover = entry;
  return name;
}

}  // namespace

StatusOr<QueueRuntime*> FindQueue(const MachineState& state, const QueueName& name) {
  QueueRuntime* queue = state.catalogue.Find(name);
  if (queue == nullptr) return NotFound("queue {} does not exist", name.ToString());
  return queue;
}

StatusOr<FoundTask> FindTask(const MachineState& state, const TaskName& name, Time now) {
  FoundTask found;
  SLUICE_ASSIGN_OR_RETURN(found.queue, FindQueue(state, name.queue));
  const QueueRuntime& queue = *found.queue;

  const auto sequence = SequenceOfGeneratedId(name.task_id, IdKey(state, queue));
  const bool was_generated = sequence.has_value() && *sequence < state.next_sequence;
  if (was_generated) {
    const Lookup lookup = FindLive(state, queue, *sequence, name.task_id, now, &found.task);
    if (lookup == Lookup::kFound) return found;
    if (lookup == Lookup::kCold) return ColdRead();
    if (!MayBeLookalike(queue, *sequence)) return NoLongerExists(queue, name.task_id);
  }

  NameEntry entry;
  switch (state.ledger.FindName(queue.incarnation(), name.task_id, &entry)) {
    case Lookup::kCold:
      return ColdRead();
    case Lookup::kAbsent:
      return was_generated ? NoLongerExists(queue, name.task_id)
                           : NeverExisted(queue, name.task_id);
    case Lookup::kFound:
      break;
  }
  if (entry.reserved_until.has_value()) return NoLongerExists(queue, name.task_id);
  const Lookup lookup = FindLive(state, queue, entry.sequence, name.task_id, now, &found.task);
  if (lookup == Lookup::kCold) return ColdRead();
  if (lookup == Lookup::kAbsent) return NoLongerExists(queue, name.task_id);
  return found;
}

StatusOr<FreeName> FindFreeName(const MachineState& state, const QueueRuntime& queue,
                                std::string_view task_id, Time now) {
  if (!task_id.empty()) return FindFreeUserName(state, queue, task_id, now);

  const std::uint64_t key = IdKey(state, queue);
  FreeName name{.is_generated = true, .sequence = state.next_sequence};
  for (;; ++name.sequence) {
    name.task_id = GeneratedTaskId(name.sequence, key);
    if (!MayBeLookalike(queue, name.sequence)) return name;
    NameEntry entry;
    const Lookup lookup = state.ledger.FindName(queue.incarnation(), name.task_id, &entry);
    if (lookup == Lookup::kCold) return ColdRead();
    if (lookup == Lookup::kAbsent) return name;
  }
}

}  // namespace sluice::core
