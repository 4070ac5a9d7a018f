// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/queue_commands.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/codec.h"
#include "core/tasks/dispatch.h"
#include "core/tasks/expiry.h"
#include "core/tasks/lifecycle.h"
#include "core/tasks/purge.h"
#include "core/tasks/queue_config.h"
#include "core/tasks/task_lookup.h"

namespace sluice::core {

namespace {

Window NewWindow(const TaskLimits& limits) {
  return Window(std::max<std::size_t>(1, limits.window_rows_max), limits.window_rows_low);
}

}  // namespace

StatusOr<Queue> CreateQueue(MachineState& state, const QueueName& name, const QueuePatch& settings,
                            Time now) {
  if (state.catalogue.Find(name) != nullptr) {
    return AlreadyExists("queue {} exists", name.ToString());
  }
  const std::optional<Time> reserved_until = state.catalogue.ReservedUntil(name);
  if (reserved_until.has_value() && *reserved_until > now) {
    return FailedPrecondition("queue {} was deleted; its name can be used again from {} on",
                              name.ToString(),
                              absl::FormatTime(*reserved_until, absl::UTCTimeZone()));
  }
  if (state.catalogue.size() >= state.limits.queues_max) {
    return ResourceExhausted("queue {} cannot be created: there are {} queues, the limit is {}",
                             name.ToString(), state.catalogue.size(), state.limits.queues_max);
  }
  SLUICE_ASSIGN_OR_RETURN(const QueueConfig config,
                          MergeQueueConfig(name, DefaultQueueConfig(state.limits), settings,
                                           state.limits, /*is_new=*/true));

  if (reserved_until.has_value()) {
    state.catalogue.Release(name);
    state.ledger.EraseQueueReservation(name);
  }
  const Queue queue{.name = name, .incarnation = state.next_incarnation++, .config = config};
  QueueRuntime& added = state.catalogue.Add(std::make_unique<QueueRuntime>(
      queue,
      TokenBucket::Full(config.rate.max_dispatches_per_second, config.rate.max_burst_size, now),
      NewWindow(state.limits)));
  state.ledger.PutQueue(queue);
  added.counters.schedule_floor = now;
  RaiseOldest(added, state.next_sequence, now);
  SaveCounters(state, added);
  return queue;
}

StatusOr<Queue> UpdateQueue(MachineState& state, const QueueName& name, const QueuePatch& patch,
                            Time now) {
  QueueRuntime* queue = state.catalogue.Find(name);
  if (queue == nullptr) return CreateQueue(state, name, patch, now);
  SLUICE_ASSIGN_OR_RETURN(queue->queue.config, MergeQueueConfig(name, queue->queue.config, patch,
                                                                state.limits, /*is_new=*/false));
  ApplyPace(*queue, now);
  state.ledger.PutQueue(queue->queue);
  Replan(state, *queue);
  return queue->queue;
}

StatusOr<Queue> GetQueue(const MachineState& state, const QueueName& name) {
  SLUICE_ASSIGN_OR_RETURN(const QueueRuntime* queue, FindQueue(state, name));
  return queue->queue;
}

Status DeleteQueue(MachineState& state, const QueueName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, name));
  state.ledger.EraseQueue(queue->queue);
  if (state.limits.queue_name_reservation > absl::ZeroDuration()) {
    const Time until = FloorToMicros(now + state.limits.queue_name_reservation);
    state.ledger.PutQueueReservation(name, until);
    state.catalogue.Reserve(name, until);
  }
  if (queue->counters.task_count > 0) {
    state.effects.ended.push_back(
        TaskEnded{.queue = queue->incarnation(), .sequence = 0, .end = TaskEnd::kQueueDeleted});
  }
  state.dead_letters.EraseQueue(queue->incarnation());
  state.agenda.Remove(queue->incarnation(), &queue->appointment);
  state.catalogue.Remove(*queue);
  return absl::OkStatus();
}

StatusOr<Queue> SetQueueState(MachineState& state, const QueueName& name, QueueState queue_state) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, name));
  if (queue->queue.state != queue_state) {
    queue->queue.state = queue_state;
    state.ledger.PutQueue(queue->queue);
    Replan(state, *queue);
  }
  return queue->queue;
}

StatusOr<Queue> PurgeQueue(MachineState& state, const QueueName& name, Time now) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, name));
  Purge(state, *queue, now);
  Replan(state, *queue);
  return queue->queue;
}

std::string PolicyEtag(const Queue& queue) {
  std::string etag;
  ByteWriter writer(&etag);
  writer.Varint(queue.incarnation);
  writer.Varint(queue.policy.revision);
  return etag;
}

StatusOr<Queue> SetAccessPolicy(MachineState& state, const QueueName& name, std::string_view policy,
                                std::string_view etag) {
  SLUICE_ASSIGN_OR_RETURN(QueueRuntime * queue, FindQueue(state, name));
  if (etag != PolicyEtag(queue->queue)) {
    return Aborted("queue {}: its policy was changed since the etag was read; read it again",
                   name.ToString());
  }
  queue->queue.policy = {std::string(policy), queue->queue.policy.revision + 1};
  state.ledger.PutQueue(queue->queue);
  return queue->queue;
}

void RestoreQueue(MachineState& state, const Queue& queue, const QueueCounters& counters,
                  Time now) {
  const RateLimits& rate = queue.config.rate;
  QueueRuntime& added = state.catalogue.Add(std::make_unique<QueueRuntime>(
      queue, TokenBucket::Empty(rate.max_dispatches_per_second, rate.max_burst_size, now),
      NewWindow(state.limits)));
  added.counters = counters;
  added.counters_saved = counters;
  if (counters.task_count > 0) added.window.StartAt(ScheduleKey{counters.schedule_floor, 0});
  RaiseOldest(added, std::max(counters.body_floor, queue.purged_through + 1), absl::InfinitePast());
  state.next_incarnation = std::max(state.next_incarnation, queue.incarnation + 1);
  state.next_sequence = std::max(state.next_sequence, queue.purged_through + 1);
}

}  // namespace sluice::core
