// SPDX-License-Identifier: Apache-2.0
#pragma once

// From a task's name to the task, and whether a name is free. A user's name is
// looked up in the index; a generated id is its sequence in disguise and needs
// no index (task_id.h).
//
// A user may choose a name that looks like a generated id. If it stands for a
// sequence that was given out already, the name counts as used for good. If it
// stands for one to come, the name is indexed like any other, the queue's
// lookalike_floor remembers the lowest of them, and ids generated from there on
// are checked against the index and skipped when taken. Sequences that strangers
// hit upon are so far away that this is never reached in practice.
//
// Threading: one thread. Failure: ColdRead(), with no trace left.

#include <string>
#include <string_view>

#include "core/tasks/state.h"

namespace sluice::core {

/// Errors: NOT_FOUND.
StatusOr<QueueRuntime*> FindQueue(const MachineState& state, const QueueName& name);

struct FoundTask {
  QueueRuntime* queue = nullptr;
  Task task;
};
/// A task that exists at `now`. Errors: NOT_FOUND, saying whether the name was ever used.
StatusOr<FoundTask> FindTask(const MachineState& state, const TaskName& name, Time now);

/// What must be known before a name is given to a new task.
struct FreeName {
  std::string task_id;
  bool is_generated = false;
  Sequence sequence = 0;              // for the new task
  std::optional<NameEntry> leftover;  // an expired tombstone to be replaced
  Sequence lookalike = 0;             // the sequence to come that the name looks like
};
/// `task_id`: empty to generate one. Errors: ALREADY_EXISTS.
StatusOr<FreeName> FindFreeName(const MachineState& state, const QueueRuntime& queue,
                                std::string_view task_id, Time now);

}  // namespace sluice::core
