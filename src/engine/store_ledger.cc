// SPDX-License-Identifier: Apache-2.0
#include "engine/store_ledger.h"

#include <memory>
#include <utility>

#include "base/time.h"
#include "engine/records.h"
#include "store/keys.h"

namespace sluice::engine {
namespace {

template <typename T>
T Require(StatusOr<T> value, std::string_view what) {
  SLUICE_CHECK(value.ok(), fmt::format("{}: {}", what, Message(value.status())));
  return *std::move(value);
}

}  // namespace

core::Lookup StoreLedger::Read(std::string_view key, std::string* value) {
  if (const std::optional<std::string>* changed = overlay_.Find(key)) {
    if (!*changed) return core::Lookup::kAbsent;
    *value = **changed;
    return core::Lookup::kFound;
  }
  switch (Require(store_.Get(key, mode_, value), "reading the store")) {
    case store::Lookup::kFound:
      return core::Lookup::kFound;
    case store::Lookup::kAbsent:
      return core::Lookup::kAbsent;
    case store::Lookup::kCold:
      cold_keys_.emplace_back(key);
      return core::Lookup::kCold;
  }
  return core::Lookup::kAbsent;
}

core::Lookup StoreLedger::FindTask(core::Incarnation queue, core::Sequence sequence,
                                   core::Task* task) {
  if (const core::Task* cached = cache_.Find(queue, sequence)) {
    *task = *cached;
    return core::Lookup::kFound;
  }
  const core::Lookup body_lookup = Read(store::BodyKey(queue, sequence), &scratch_);
  if (body_lookup != core::Lookup::kFound) return body_lookup;
  auto body = std::make_shared<core::TaskBody>(
      Require(DecodeBody(sequence, scratch_), "decoding a task body"));
  core::TaskProgress progress;
  switch (Read(store::ProgressKey(queue, sequence), &scratch_)) {
    case core::Lookup::kFound:
      progress = Require(DecodeProgress(scratch_), "decoding a task's progress");
      break;
    case core::Lookup::kAbsent:
      progress.schedule_time = body->schedule_time;
      break;
    case core::Lookup::kCold:
      return core::Lookup::kCold;
  }
  task->body = std::move(body);
  task->progress = std::move(progress);
  cache_.Put(queue, *task);
  return core::Lookup::kFound;
}

core::Lookup StoreLedger::FindName(core::Incarnation queue, std::string_view task_id,
                                   core::NameEntry* entry) {
  const core::Lookup lookup = Read(store::NameKey(queue, task_id), &scratch_);
  if (lookup == core::Lookup::kFound) {
    *entry = Require(DecodeNameEntry(scratch_), "decoding a task name");
  }
  return lookup;
}

void StoreLedger::PutQueue(const core::Queue& queue) {
  overlay_.Put(store::QueueKey(queue.name.ToString()), EncodeQueue(queue));
}

void StoreLedger::EraseQueue(const core::Queue& queue) {
  overlay_.Delete(store::QueueKey(queue.name.ToString()));
  for (store::KeyRange& range : store::IncarnationRanges(queue.incarnation)) {
    overlay_.DeleteRange(std::move(range));
  }
}

void StoreLedger::PutQueueReservation(const QueueName& name, Time until) {
  overlay_.Put(store::ReservationKey(name.ToString()), EncodeReservation(until));
}

void StoreLedger::EraseQueueReservation(const QueueName& name) {
  overlay_.Delete(store::ReservationKey(name.ToString()));
}

void StoreLedger::PutTask(core::Incarnation queue, std::shared_ptr<const core::TaskBody> body) {
  overlay_.Put(store::BodyKey(queue, body->sequence), EncodeBody(*body));
  overlay_.Put(store::ScheduleKey(queue, ToMicros(body->schedule_time), body->sequence), "");
  core::Task task{std::move(body), {}};
  task.progress.schedule_time = task.body->schedule_time;
  cache_.Put(queue, task);
}

void StoreLedger::PutProgress(core::Incarnation queue, const core::Task& before,
                              const core::TaskProgress& after) {
  const core::Sequence sequence = before.body->sequence;
  overlay_.Put(store::ProgressKey(queue, sequence), EncodeProgress(after));
  const std::int64_t from = ToMicros(before.progress.schedule_time);
  const std::int64_t to = ToMicros(after.schedule_time);
  if (from != to) {
    overlay_.Delete(store::ScheduleKey(queue, from, sequence));
    overlay_.Put(store::ScheduleKey(queue, to, sequence), "");
  }
  cache_.Put(queue, core::Task{before.body, after});
}

void StoreLedger::EraseTask(core::Incarnation queue, const core::Task& task) {
  const core::Sequence sequence = task.body->sequence;
  overlay_.Delete(store::BodyKey(queue, sequence));
  // A task that was never attempted has no progress record.
  if (task.progress.dispatch_count > 0 || task.progress.schedule_time != task.body->schedule_time) {
    overlay_.Delete(store::ProgressKey(queue, sequence));
  }
  overlay_.Delete(store::ScheduleKey(queue, ToMicros(task.progress.schedule_time), sequence));
  cache_.Erase(queue, sequence);
}

void StoreLedger::PutName(core::Incarnation queue, std::string_view task_id,
                          const core::NameEntry& entry) {
  overlay_.Put(store::NameKey(queue, task_id), EncodeNameEntry(entry));
  if (entry.reserved_until) {
    overlay_.Put(store::ExpiryKey(ToMicros(*entry.reserved_until), queue, task_id), "");
  }
}

void StoreLedger::EraseName(core::Incarnation queue, std::string_view task_id,
                            const core::NameEntry& entry) {
  overlay_.Delete(store::NameKey(queue, task_id));
  if (entry.reserved_until) {
    overlay_.Delete(store::ExpiryKey(ToMicros(*entry.reserved_until), queue, task_id));
  }
}

core::Lookup StoreLedger::FindDeadLetter(core::Incarnation queue, core::Sequence sequence,
                                         core::DeadLetter* letter) {
  const core::Lookup lookup = Read(store::DeadLetterKey(queue, sequence), &scratch_);
  if (lookup == core::Lookup::kFound) {
    *letter = Require(DecodeDeadLetter(sequence, scratch_), "decoding a dead letter");
  }
  return lookup;
}

void StoreLedger::PutDeadLetter(core::Incarnation queue, const core::DeadLetter& letter,
                                const core::DeadLetterHead& head) {
  const core::Sequence sequence = letter.task.body->sequence;
  overlay_.Put(store::DeadLetterKey(queue, sequence), EncodeDeadLetter(letter));
  overlay_.Put(store::DeadHeadKey(queue, sequence), EncodeDeadLetterHead(head));
}

void StoreLedger::EraseDeadLetter(core::Incarnation queue, core::Sequence sequence) {
  overlay_.Delete(store::DeadLetterKey(queue, sequence));
  overlay_.Delete(store::DeadHeadKey(queue, sequence));
}

void StoreLedger::PutCounters(core::Incarnation queue, const core::QueueCounters& counters) {
  overlay_.Put(store::CountersKey(queue), EncodeCounters(counters));
}

std::vector<std::string> StoreLedger::TakeColdKeys() { return std::exchange(cold_keys_, {}); }

}  // namespace sluice::engine
