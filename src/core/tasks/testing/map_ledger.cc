// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/testing/map_ledger.h"

#include "base/status.h"

namespace sluice::core::testing {

MapLedger::QueueRecords& MapLedger::Records(Incarnation queue) {
  const auto it = queues_.find(queue);
  SLUICE_CHECK(it != queues_.end(), "a change in a queue that is not stored");
  return it->second;
}

Lookup MapLedger::FindTask(Incarnation queue, Sequence sequence, Task* task) {
  const TaskKey key{queue, sequence};
  if (has_cold_reads_ && !warm_tasks_.contains(key)) {
    cold_tasks_.insert(key);
    return Lookup::kCold;
  }
  const QueueRecords& records = Records(queue);
  const auto it = records.tasks.find(sequence);
  if (it == records.tasks.end()) return Lookup::kAbsent;
  *task = it->second;
  return Lookup::kFound;
}

Lookup MapLedger::FindName(Incarnation queue, std::string_view task_id, NameEntry* entry) {
  const NameKey key{queue, std::string(task_id)};
  if (has_cold_reads_ && !warm_names_.contains(key)) {
    cold_names_.insert(key);
    return Lookup::kCold;
  }
  const QueueRecords& records = Records(queue);
  const auto it = records.names.find(task_id);
  if (it == records.names.end()) return Lookup::kAbsent;
  *entry = it->second;
  return Lookup::kFound;
}

void MapLedger::PutQueue(const Queue& queue) {
  ++writes_;
  queues_[queue.incarnation].queue = queue;
}

void MapLedger::EraseQueue(const Queue& queue) {
  ++writes_;
  SLUICE_CHECK(queues_.erase(queue.incarnation) == 1, "erased a queue that is not stored");
}

void MapLedger::PutQueueReservation(const QueueName& name, Time until) {
  ++writes_;
  reservations_[name] = until;
}

void MapLedger::EraseQueueReservation(const QueueName& name) {
  ++writes_;
  SLUICE_CHECK(reservations_.erase(name) == 1, "erased a reservation that is not stored");
}

void MapLedger::PutTask(Incarnation queue, std::shared_ptr<const TaskBody> body) {
  ++writes_;
  QueueRecords& records = Records(queue);
  const Sequence sequence = body->sequence;
  SLUICE_CHECK(records.tasks.empty() || records.tasks.rbegin()->first < sequence,
               "sequences must grow");
  SLUICE_CHECK(records.schedule.insert({body->schedule_time, sequence}).second, "schedule entry");
  const TaskProgress progress{.schedule_time = body->schedule_time};
  records.tasks.emplace(sequence, Task{std::move(body), progress});
  warm_tasks_.insert({queue, sequence});
}

void MapLedger::PutProgress(Incarnation queue, const Task& before, const TaskProgress& after) {
  ++writes_;
  QueueRecords& records = Records(queue);
  const Sequence sequence = before.body->sequence;
  const auto it = records.tasks.find(sequence);
  SLUICE_CHECK(it != records.tasks.end(), "progress of a task that is not stored");
  SLUICE_CHECK(it->second.progress == before.progress, "progress from a state that is not stored");
  SLUICE_CHECK(records.schedule.erase({before.progress.schedule_time, sequence}) == 1,
               "schedule entry");
  it->second.progress = after;
  records.schedule.insert({after.schedule_time, sequence});
  warm_tasks_.insert({queue, sequence});
}

void MapLedger::EraseTask(Incarnation queue, const Task& task) {
  ++writes_;
  QueueRecords& records = Records(queue);
  const Sequence sequence = task.body->sequence;
  const auto it = records.tasks.find(sequence);
  SLUICE_CHECK(it != records.tasks.end(), "erased a task that is not stored");
  SLUICE_CHECK(it->second.progress == task.progress, "erased a state that is not stored");
  SLUICE_CHECK(records.schedule.erase({task.progress.schedule_time, sequence}) == 1,
               "schedule entry");
  records.tasks.erase(it);
}

void MapLedger::PutName(Incarnation queue, std::string_view task_id, const NameEntry& entry) {
  ++writes_;
  QueueRecords& records = Records(queue);
  const std::string id(task_id);
  const auto it = records.names.find(id);
  SLUICE_CHECK(it == records.names.end() || !it->second.reserved_until.has_value(),
               "a tombstone was overwritten and stays in the order of expiry");
  records.names.insert_or_assign(id, entry);
  if (entry.reserved_until.has_value()) expiry_.insert({*entry.reserved_until, queue, id});
  warm_names_.insert({queue, id});
}

void MapLedger::EraseName(Incarnation queue, std::string_view task_id, const NameEntry& entry) {
  ++writes_;
  const std::string id(task_id);
  // The order of expiry outlives its queue.
  if (const auto it = queues_.find(queue); it != queues_.end()) {
    const auto name = it->second.names.find(id);
    SLUICE_CHECK(name != it->second.names.end() && name->second == entry,
                 "erased a name that is not stored like this");
    it->second.names.erase(name);
  }
  if (entry.reserved_until.has_value()) {
    SLUICE_CHECK(expiry_.erase({*entry.reserved_until, queue, id}) == 1, "order of expiry");
  }
}

Lookup MapLedger::FindDeadLetter(Incarnation queue, Sequence sequence, DeadLetter* letter) {
  const TaskKey key{queue, sequence};
  if (has_cold_reads_ && !warm_letters_.contains(key)) {
    cold_letters_.insert(key);
    return Lookup::kCold;
  }
  const QueueRecords& records = Records(queue);
  const auto it = records.dead_letters.find(sequence);
  if (it == records.dead_letters.end()) return Lookup::kAbsent;
  *letter = it->second.first;
  return Lookup::kFound;
}

void MapLedger::PutDeadLetter(Incarnation queue, const DeadLetter& letter,
                              const DeadLetterHead& head) {
  ++writes_;
  const Sequence sequence = letter.task.body->sequence;
  SLUICE_CHECK(Records(queue).dead_letters.emplace(sequence, std::pair(letter, head)).second,
               "a task ends once");
  warm_letters_.insert({queue, sequence});
}

void MapLedger::EraseDeadLetter(Incarnation queue, Sequence sequence) {
  ++writes_;
  SLUICE_CHECK(Records(queue).dead_letters.erase(sequence) == 1,
               "erased a dead letter that is not stored");
}

void MapLedger::PutCounters(Incarnation queue, const QueueCounters& counters) {
  ++writes_;
  Records(queue).counters = counters;
}

MapLedger::Rows MapLedger::ReadWindow(const LoadWindow& request) const {
  Rows rows;
  const auto queue = queues_.find(request.queue);
  if (queue == queues_.end()) return Rows{.is_complete = true};
  const std::set<ScheduleKey>& schedule = queue->second.schedule;
  auto it = schedule.upper_bound(request.after);
  for (; it != schedule.end() && rows.entries.size() < request.rows_max; ++it) {
    rows.entries.push_back(*it);
  }
  rows.is_complete = it == schedule.end();
  return rows;
}

std::optional<TaskMachine::Oldest> MapLedger::ReadOldest(const FindOldest& request) const {
  const auto queue = queues_.find(request.queue);
  if (queue == queues_.end()) return std::nullopt;
  const auto it = queue->second.tasks.lower_bound(request.from);
  if (it == queue->second.tasks.end()) return std::nullopt;
  return TaskMachine::Oldest{it->first, it->second.body->create_time};
}

MapLedger::Bodies MapLedger::ReadPurged(const FindPurged& request) {
  Bodies bodies;
  const auto queue = queues_.find(request.queue);
  if (queue == queues_.end()) return Bodies{.is_complete = true};
  const std::map<Sequence, Task>& tasks = queue->second.tasks;
  auto it = tasks.lower_bound(request.from);
  for (; it != tasks.end() && it->first <= request.through; ++it) {
    if (bodies.sequences.size() == request.rows_max) return bodies;
    bodies.sequences.push_back(it->first);
    warm_tasks_.insert({request.queue, it->first});
  }
  bodies.is_complete = true;
  return bodies;
}

MapLedger::Tombstones MapLedger::ReadTombstones(const FindTombstones& request) const {
  Tombstones found;
  for (auto it = expiry_.lower_bound({request.from, 0, ""}); it != expiry_.end(); ++it) {
    const auto& [until, queue, id] = *it;
    if (until > request.until) break;
    if (found.tombstones.size() == request.rows_max) return found;
    found.tombstones.push_back({queue, id, until});
  }
  found.is_complete = true;
  return found;
}

void MapLedger::Cool() {
  warm_tasks_.clear();
  warm_names_.clear();
  warm_letters_.clear();
}

void MapLedger::Warm(const LoadTasks& request) {
  for (const Sequence sequence : request.sequences) warm_tasks_.insert({request.queue, sequence});
}

void MapLedger::WarmWhatWasCold() {
  warm_tasks_.merge(cold_tasks_);
  warm_names_.merge(cold_names_);
  cold_tasks_.clear();
  warm_letters_.merge(cold_letters_);
  cold_names_.clear();
  cold_letters_.clear();
}

void MapLedger::Check() const {
  for (const auto& [incarnation, records] : queues_) {
    const QueueCounters& counters = records.counters;
    std::size_t live = 0;
    SLUICE_CHECK(records.tasks.size() == records.schedule.size(), "one schedule entry a task");
    for (const auto& [sequence, task] : records.tasks) {
      const Time scheduled = task.progress.schedule_time;
      SLUICE_CHECK(sequence >= counters.body_floor, "a body lies below the floor");
      SLUICE_CHECK(records.schedule.contains({scheduled, sequence}), "schedule entry");
      if (!task.body->is_generated_id) {
        SLUICE_CHECK(records.names.contains(task.body->task_id), "a named task without a name");
      }
      if (sequence <= records.queue.purged_through) continue;
      ++live;
      SLUICE_CHECK(scheduled >= counters.schedule_floor, "a schedule entry lies below the floor");
    }
    SLUICE_CHECK(counters.task_count == live, "task_count is wrong");
  }
  // No expiry entry below the floor is checked by the harness, which knows it.
}

}  // namespace sluice::core::testing
