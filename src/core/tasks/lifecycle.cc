// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/lifecycle.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/tasks/expiry.h"

namespace sluice::core {

namespace {

/// No live task's entry in the ledger's schedule lies before.
Time ScheduleFloor(const QueueRuntime& queue) {
  Time floor = absl::InfiniteFuture();
  if (!queue.window.empty()) {
    floor = queue.window.front().time;
  } else if (queue.window.bound().has_value()) {
    floor = queue.window.bound()->time;
  }
  if (!queue.flight_keys.empty()) floor = std::min(floor, queue.flight_keys.begin()->time);
  // An empty queue keeps what it had; the next task brings its own.
  return floor == absl::InfiniteFuture() ? queue.counters.schedule_floor : floor;
}

void EndFlight(QueueRuntime& queue, ScheduleKey key) {
  if (queue.flights.erase(key.sequence) > 0) queue.flight_keys.erase(key);
}

}  // namespace

std::size_t BytesOf(const HttpRequest& request) {
  std::size_t bytes = request.url.size() + request.body.size();
  for (const Header& header : request.headers) bytes += header.name.size() + header.value.size();
  return bytes;
}

void AddTask(MachineState& state, QueueRuntime& queue, std::shared_ptr<const TaskBody> body) {
  const ScheduleKey key{body->schedule_time, body->sequence};
  if (queue.counters.task_count == 0) RaiseOldest(queue, body->sequence, body->create_time);
  ++queue.counters.task_count;
  state.ledger.PutTask(queue.incarnation(), std::move(body));
  queue.window.Insert(key);
  SaveCounters(state, queue);
}

Task StartFlight(MachineState& state, QueueRuntime& queue, const Task& task, bool is_forced,
                 Time now) {
  const ScheduleKey key_before = KeyOf(task);
  TaskProgress progress = task.progress;
  if (is_forced) progress.schedule_time = now;
  if (progress.dispatch_count < std::numeric_limits<std::int32_t>::max()) ++progress.dispatch_count;
  if (!progress.first_dispatch_time.has_value()) progress.first_dispatch_time = now;
  progress.last_attempt = Attempt{.schedule_time = progress.schedule_time, .dispatch_time = now};
  state.ledger.PutProgress(queue.incarnation(), task, progress);

  const auto [it, is_first] = queue.flights.try_emplace(task.body->sequence);
  // Also when it flies already and the window does not hold it: a load that is
  // under way may show the old entry after the task has landed or ended.
  queue.window.Erase(key_before);
  if (!is_first) queue.flight_keys.erase(key_before);
  queue.flight_keys.insert({progress.schedule_time, task.body->sequence});

  Flight& flight = it->second;
  flight.task = Task{task.body, std::move(progress)};
  ++flight.open_attempts;
  flight.latest = state.attempts.Open(OpenAttempt{.queue = queue.incarnation(),
                                                  .sequence = task.body->sequence,
                                                  .attempt = *flight.task.progress.last_attempt,
                                                  .is_forced = is_forced,
                                                  .bytes = BytesOf(task.body->request)});
  ++queue.open_attempts;
  state.effects.attempts.push_back(
      StartAttempt{.id = flight.latest,
                   .queue = queue.queue.name,
                   .task = flight.task,
                   .log_sampling_ratio = queue.queue.config.log_sampling_ratio,
                   .targets = queue.queue.config.targets});
  Task started = flight.task;
  SaveCounters(state, queue);
  return started;
}

void LandForRetry(MachineState& state, QueueRuntime& queue, const Task& before,
                  const TaskProgress& progress) {
  state.ledger.PutProgress(queue.incarnation(), before, progress);
  const ScheduleKey key_before = KeyOf(before);
  const ScheduleKey key{progress.schedule_time, before.body->sequence};
  EndFlight(queue, key_before);  // `before` may be the flight's own: not used from here on
  // The window never held the old entry while in flight, but a load that is
  // under way may still bring it.
  if (key != key_before) queue.window.Erase(key_before);
  queue.window.Insert(key);
  SaveCounters(state, queue);
}

void EndTask(MachineState& state, QueueRuntime& queue, const Task& task, TaskEnd end, Time now) {
  const Task ended = task;  // `task` may live in the flight that goes below
  const Incarnation incarnation = queue.incarnation();
  const Sequence sequence = ended.body->sequence;
  SLUICE_CHECK(!queue.IsPurged(sequence), "a purged task ends only by purge");
  SLUICE_CHECK(queue.counters.task_count > 0, "more tasks end than were created");

  state.ledger.EraseTask(incarnation, ended);
  if (!ended.body->is_generated_id) {
    const Time until = now + queue.queue.config.tombstone_ttl;
    state.ledger.PutName(incarnation, ended.body->task_id,
                         NameEntry{.sequence = 0, .reserved_until = until});
    state.tombstones.Added(until);
  }
  EndFlight(queue, KeyOf(ended));
  queue.window.Erase(KeyOf(ended));
  --queue.counters.task_count;
  NoteEnd(state, queue, now);
  state.effects.ended.push_back(TaskEnded{.queue = incarnation, .sequence = sequence, .end = end});
  SaveCounters(state, queue);
}

void SaveCounters(MachineState& state, QueueRuntime& queue) {
  QueueCounters counters = queue.counters;
  counters.schedule_floor = ScheduleFloor(queue);
  const Sequence body_floor =
      queue.cleaning.is_running ? queue.cleaning.next : queue.oldest.sequence_min;
  counters.body_floor = std::max(counters.body_floor, body_floor);
  queue.counters = counters;
  if (queue.counters_saved == counters) return;
  queue.counters_saved = counters;
  state.ledger.PutCounters(queue.incarnation(), counters);
}

}  // namespace sluice::core
