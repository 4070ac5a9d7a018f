// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/purge.h"

#include <algorithm>

#include "core/tasks/expiry.h"
#include "core/tasks/lifecycle.h"

namespace sluice::core {

namespace {

std::size_t RowsMax(const TaskLimits& limits) {
  return std::max<std::size_t>(1, limits.purge_rows_max);
}

void AskForPurged(MachineState& state, QueueRuntime& queue) {
  queue.cleaning.is_query_open = true;
  state.effects.purged_queries.push_back(FindPurged{.queue = queue.incarnation(),
                                                    .from = queue.cleaning.next,
                                                    .through = queue.queue.purged_through,
                                                    .rows_max = queue.cleaning.rows_max});
}

void Clean(MachineState& state, const QueueRuntime& queue, const Task& task, Time now) {
  const Incarnation incarnation = queue.incarnation();
  state.ledger.EraseTask(incarnation, task);
  state.effects.ended.push_back(
      TaskEnded{.queue = incarnation, .sequence = task.body->sequence, .end = TaskEnd::kPurged});
  if (task.body->is_generated_id) return;
  // Nobody can have taken the name over: creates refuse it until this is done.
  const Time until = *queue.queue.purge_time + queue.queue.config.tombstone_ttl;
  if (until > now) {
    state.ledger.PutName(incarnation, task.body->task_id,
                         NameEntry{.sequence = 0, .reserved_until = until});
    state.tombstones.Added(until);
  } else {
    state.ledger.EraseName(incarnation, task.body->task_id,
                           NameEntry{.sequence = task.body->sequence});
  }
}

}  // namespace

void Purge(MachineState& state, QueueRuntime& queue, Time now) {
  const bool had_tasks = queue.counters.task_count > 0;
  if (had_tasks && !queue.cleaning.is_running) {
    queue.cleaning.is_running = true;
    queue.cleaning.next = queue.oldest.sequence_min;
    queue.cleaning.rows_max = RowsMax(state.limits);
  }
  queue.queue.purge_time = now;
  queue.queue.purged_through = state.next_sequence - 1;
  state.ledger.PutQueue(queue.queue);

  queue.counters.task_count = 0;
  queue.flights.clear();
  queue.flight_keys.clear();
  queue.window.Reset();
  queue.cold_front.reset();
  RaiseOldest(queue, state.next_sequence, now);
  SaveCounters(state, queue);
  if (queue.cleaning.is_running && !queue.cleaning.is_query_open) AskForPurged(state, queue);
}

void ResumeCleaning(MachineState& state, QueueRuntime& queue) {
  if (queue.queue.purged_through == 0) return;
  if (queue.counters.body_floor > queue.queue.purged_through) return;
  queue.cleaning.is_running = true;
  queue.cleaning.next = queue.counters.body_floor;
  queue.cleaning.rows_max = RowsMax(state.limits);
  AskForPurged(state, queue);
}

void PurgedFound(MachineState& state, QueueRuntime& queue, const FindPurged& request,
                 std::span<const Sequence> sequences, bool is_complete, Time now) {
  PurgeCleaning& cleaning = queue.cleaning;
  if (!cleaning.is_query_open) return;
  cleaning.is_query_open = false;

  bool is_cold = false;
  std::size_t rows = 0;
  for (const Sequence sequence : sequences) {
    Task task;
    const Lookup lookup = state.ledger.FindTask(queue.incarnation(), sequence, &task);
    if (lookup == Lookup::kCold) {
      is_cold = true;
      cleaning.next = sequence;
      break;
    }
    if (lookup == Lookup::kFound) Clean(state, queue, task, now);
    cleaning.next = sequence + 1;
    ++rows;
  }
  cleaning.rows_max = is_cold ? std::max<std::size_t>(1, rows / 2)
                              : std::min(RowsMax(state.limits), cleaning.rows_max * 2);
  // A purge since the question may have left more to clean behind it.
  if (is_complete && !is_cold) cleaning.next = request.through + 1;
  cleaning.is_running = cleaning.next <= queue.queue.purged_through;
  SaveCounters(state, queue);
  if (cleaning.is_running) AskForPurged(state, queue);
}

}  // namespace sluice::core
