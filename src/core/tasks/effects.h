// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the core wants the world to do. Effects are plain values; the engine
// lets one out only when the log position it was computed at is durable, and
// answers it by calling the machine again. Loads change nothing outside and
// may run at once. Each is answered exactly once; its answer shows at least
// every change made before it was asked for, and may miss or show later ones:
// the machine merges what happened meanwhile.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tasks/model.h"

namespace sluice::core {

/// Identity of one attempt in the life of this process.
using AttemptId = std::uint64_t;

/// Send the task to its target. The attempt's start is in the same frame.
/// Answer: TaskMachine::AttemptFinished.
struct StartAttempt {
  AttemptId id = 0;
  QueueName queue;
  Task task;  // progress as of this attempt's start (dispatch_count includes it)
  double log_sampling_ratio = 0;  // of the queue: the share of attempts to be logged
  QueueTargets targets;           // of the queue, as they are when the attempt starts
};

/// Read the next entries of a queue's schedule, in order, from `after`
/// (exclusive). Answer: TaskMachine::WindowLoaded.
struct LoadWindow {
  Incarnation queue = 0;
  ScheduleKey after;
  std::size_t rows_max = 0;
};

/// Bring these tasks into memory. Answer: TaskMachine::TasksLoaded.
struct LoadTasks {
  Incarnation queue = 0;
  std::vector<Sequence> sequences;
};

/// Find the live body with the lowest sequence >= `from`. Answer: TaskMachine::OldestFound.
struct FindOldest {
  Incarnation queue = 0;
  Sequence from = 0;
};

/// Find bodies with `from` <= sequence <= `through`, lowest first, and bring
/// them into memory. Answer: TaskMachine::PurgedFound.
struct FindPurged {
  Incarnation queue = 0;
  Sequence from = 0;
  Sequence through = 0;
  std::size_t rows_max = 0;
};

/// Find tombstones of any queue that expire at or before `until` (which may lie
/// ahead of now), soonest first. Answer: TaskMachine::TombstonesFound.
struct FindTombstones {
  Time from;  // none lie before
  Time until;
  std::size_t rows_max = 0;
};

/// Why a task ended; for metrics, logs and the simulator's checks.
enum class TaskEnd : std::uint8_t { kDone, kDeleted, kPurged, kExpired, kExhausted, kQueueDeleted };

/// Something an observer counts. Not a request to the world. A deleted queue
/// gives one with sequence zero, for all tasks it still had.
struct TaskEnded {
  Incarnation queue = 0;
  Sequence sequence = 0;
  TaskEnd end = TaskEnd::kDone;
};

/// Filled by the machine, drained by the engine after every call.
struct Effects {
  std::vector<StartAttempt> attempts;
  std::vector<LoadWindow> window_loads;
  std::vector<LoadTasks> task_loads;
  std::vector<FindOldest> oldest_queries;
  std::vector<FindPurged> purged_queries;
  std::vector<FindTombstones> tombstone_queries;
  std::vector<TaskEnded> ended;

  void Clear() {
    attempts.clear();
    window_loads.clear();
    task_loads.clear();
    oldest_queries.clear();
    purged_queries.clear();
    tombstone_queries.clear();
    ended.clear();
  }
};

}  // namespace sluice::core
