// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/dispatch.h"

#include <algorithm>
#include <utility>

#include "core/tasks/dead_letters.h"
#include "core/tasks/expiry.h"
#include "core/tasks/lifecycle.h"
#include "core/tasks/retry.h"

namespace sluice::core {

namespace {

// Bounds the work of one call, so that commands and outcomes get their share.
constexpr int kTurnsPerAdvance = 512;

// Bodies due within this time are loaded together with the one that is due.
constexpr Duration kPrefetchAhead = absl::Seconds(1);

/// When the queue may send its next task, as far as that is up to the queue.
Time DispatchDue(const QueueRuntime& queue) {
  if (queue.queue.state != QueueState::kRunning || queue.window.empty()) {
    return absl::InfiniteFuture();
  }
  if (queue.open_attempts >= queue.queue.config.rate.max_concurrent_dispatches) {
    return absl::InfiniteFuture();  // an outcome comes first
  }
  const ScheduleKey front = queue.window.front();
  if (queue.cold_front == front.sequence) return absl::InfiniteFuture();
  return std::max({front.time, queue.bucket.NextTokenTime(), queue.throttle.paused_until()});
}

/// When the queue needs something other than a dispatch.
Time UpkeepDue(const QueueRuntime& queue) {
  return queue.window.WantsLoad() ? absl::InfinitePast() : ExpiryDue(queue);
}

void Upkeep(MachineState& state, QueueRuntime& queue, Time now) {
  if (queue.window.WantsLoad()) {
    LoadWindow load{.queue = queue.incarnation()};
    queue.window.BeginLoad(&load.after, &load.rows_max);
    state.effects.window_loads.push_back(load);
  }
  if (ExpiryDue(queue) <= now) ExpireOldest(state, queue, now);
}

void LoadFront(MachineState& state, QueueRuntime& queue, Time now) {
  LoadTasks load{.queue = queue.incarnation()};
  const bool is_second_try = queue.loaded_front == queue.window.front().sequence;
  const std::size_t rows_max =
      is_second_try ? 1 : std::max<std::size_t>(1, state.limits.prefetch_rows_max);
  for (const ScheduleKey& key : queue.window.entries()) {
    if (load.sequences.size() >= rows_max) break;
    if (key.time > now + kPrefetchAhead) break;
    load.sequences.push_back(key.sequence);
  }
  queue.cold_front = load.sequences.front();
  state.effects.task_loads.push_back(std::move(load));
}

/// Sends or ends the task at the front, or asks for it. Requires: DispatchDue(queue) <= now.
void DispatchFront(MachineState& state, QueueRuntime& queue, Time now) {
  const ScheduleKey front = queue.window.front();
  Task task;
  switch (state.ledger.FindTask(queue.incarnation(), front.sequence, &task)) {
    case Lookup::kCold:
      LoadFront(state, queue, now);
      return;
    case Lookup::kAbsent:
      CheckFailed(__FILE__, __LINE__, "window", "a scheduled task is not in the ledger");
    case Lookup::kFound:
      break;
  }
  SLUICE_CHECK(task.progress.schedule_time == front.time, "schedule and progress disagree");

  if (queue.IsExpired(*task.body, now)) {
    EndTask(state, queue, task, TaskEnd::kExpired, now);
    return;
  }
  // Possible when a crash lost the outcome of the last attempt, and after the
  // limits were lowered.
  if (task.progress.dispatch_count > 0 &&
      IsExhausted(RetryConfigOf(*task.body, queue.queue.config), task.progress, now)) {
    GiveUp(state, queue, task, task.progress, now);
    return;
  }
  const bool has_token = queue.bucket.TryTake(now);
  SLUICE_CHECK(has_token, "dispatch before the token is due");
  StartFlight(state, queue, task, /*is_forced=*/false, now);
}

void TakeTurns(MachineState& state, Time now) {
  for (int turn = 0; turn < kTurnsPerAdvance; ++turn) {
    if (!state.agenda.has_turns() || !state.attempts.HasRoom()) return;
    QueueRuntime& queue = *state.catalogue.Find(state.agenda.TakeTurn());
    queue.appointment.has_turn = false;
    if (DispatchDue(queue) <= now) DispatchFront(state, queue, now);
    Upkeep(state, queue, now);
    if (DispatchDue(queue) <= now) {
      state.agenda.AddTurn(queue.incarnation(), &queue.appointment);
    }
    Replan(state, queue);
  }
}

}  // namespace

void ApplyPace(QueueRuntime& queue, Time now) {
  const RateLimits& rate = queue.queue.config.rate;
  // A slowed queue gets no burst: it would send what it saved up at once.
  queue.bucket.Configure(queue.throttle.RateFor(rate.max_dispatches_per_second),
                         queue.throttle.is_slow() ? 1 : rate.max_burst_size, now);
}

void Replan(MachineState& state, QueueRuntime& queue) {
  Time due = UpkeepDue(queue);
  if (!queue.appointment.has_turn) due = std::min(due, DispatchDue(queue));
  state.agenda.SetAlarm(queue.incarnation(), &queue.appointment, due);
}

void Advance(MachineState& state, Time now) {
  while (const auto name = state.catalogue.FirstReleased(now)) {
    state.ledger.EraseQueueReservation(*name);
    state.catalogue.Release(*name);
  }
  if (state.tombstones.due() <= now) {
    state.effects.tombstone_queries.push_back(state.tombstones.BeginQuery(now));
  }
  ExpireDeadLetters(state, now);
  while (const auto due = state.agenda.FirstDue(now)) {
    QueueRuntime& queue = *state.catalogue.Find(*due);
    Upkeep(state, queue, now);
    if (DispatchDue(queue) <= now) state.agenda.AddTurn(*due, &queue.appointment);
    Replan(state, queue);
  }
  TakeTurns(state, now);
}

Time NextDeadline(const MachineState& state) {
  if (state.agenda.has_turns() && state.attempts.HasRoom()) return state.now;
  const Time next = std::min({state.agenda.next_alarm(), state.tombstones.due(),
                              state.catalogue.NextRelease(), DeadLettersDue(state)});
  return std::max(next, state.now);
}

void WindowLoaded(MachineState& state, QueueRuntime& queue, const LoadWindow& request,
                  std::span<const ScheduleKey> entries, bool is_complete) {
  queue.window.Loaded(request.after, entries, is_complete, [&queue](ScheduleKey key) {
    return queue.IsPurged(key.sequence) || queue.flights.contains(key.sequence);
  });
  SaveCounters(state, queue);
  Replan(state, queue);
}

void TasksLoaded(MachineState& state, QueueRuntime& queue, const LoadTasks& request) {
  if (request.sequences.empty()) return;
  const Sequence first = request.sequences.front();
  if (queue.cold_front == first) {
    queue.cold_front.reset();
    queue.loaded_front = first;
  }
  if (queue.oldest.loading == first) queue.oldest.loading.reset();
  Replan(state, queue);
}

}  // namespace sluice::core
