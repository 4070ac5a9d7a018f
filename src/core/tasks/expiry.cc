// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/expiry.h"

#include <algorithm>

#include "core/tasks/lifecycle.h"

namespace sluice::core {

namespace {

// How many records a scan from the oldest known task may have to pass over.
constexpr std::uint64_t kEndsBetweenQueries = 1024;

}  // namespace

void RaiseOldest(QueueRuntime& queue, Sequence sequence_min, Time create_time_min) {
  OldestTask& oldest = queue.oldest;
  oldest.sequence_min = std::max(oldest.sequence_min, sequence_min);
  oldest.create_time_min = std::max(oldest.create_time_min, create_time_min);
}

void NoteEnd(const MachineState& state, QueueRuntime& queue, Time now) {
  ++queue.oldest.ends_since_query;
  if (queue.counters.task_count > 0) return;
  RaiseOldest(queue, state.next_sequence, now);
  queue.oldest.ends_since_query = 0;
}

Time ExpiryDue(const QueueRuntime& queue) {
  const OldestTask& oldest = queue.oldest;
  if (queue.counters.task_count == 0) return absl::InfiniteFuture();
  if (oldest.is_query_open || oldest.loading.has_value()) return absl::InfiniteFuture();
  if (oldest.ends_since_query >= kEndsBetweenQueries) return absl::InfinitePast();
  return oldest.create_time_min + queue.queue.config.task_ttl;
}

void ExpireOldest(MachineState& state, QueueRuntime& queue, Time now) {
  OldestTask& oldest = queue.oldest;
  oldest.is_query_open = true;
  oldest.query_sequence_next = state.next_sequence;
  oldest.query_time = now;
  oldest.ends_since_query = 0;
  state.effects.oldest_queries.push_back(
      FindOldest{.queue = queue.incarnation(), .from = oldest.sequence_min});
}

void OldestFound(MachineState& state, QueueRuntime& queue,
                 const std::optional<TaskMachine::Oldest>& found, Time now) {
  OldestTask& oldest = queue.oldest;
  if (!oldest.is_query_open) return;
  oldest.is_query_open = false;

  if (!found.has_value()) {
    // All that can be there was created after the question.
    RaiseOldest(queue, oldest.query_sequence_next, oldest.query_time);
    SaveCounters(state, queue);
    return;
  }
  // Ended or purged since it was found: the bounds have moved past it already.
  if (found->sequence < oldest.sequence_min) return;
  RaiseOldest(queue, found->sequence, found->create_time);

  if (found->create_time + queue.queue.config.task_ttl <= now) {
    Task task;
    Lookup lookup = Lookup::kFound;
    if (const auto it = queue.flights.find(found->sequence); it != queue.flights.end()) {
      task = it->second.task;
    } else {
      lookup = state.ledger.FindTask(queue.incarnation(), found->sequence, &task);
    }
    if (lookup == Lookup::kCold) {
      oldest.loading = found->sequence;
      state.effects.task_loads.push_back(
          LoadTasks{.queue = queue.incarnation(), .sequences = {found->sequence}});
      return;  // asked again when it is there
    }
    RaiseOldest(queue, found->sequence + 1, found->create_time);
    if (lookup == Lookup::kFound) EndTask(state, queue, task, TaskEnd::kExpired, now);
  }
  SaveCounters(state, queue);
}

}  // namespace sluice::core
