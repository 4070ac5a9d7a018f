// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/testing/machine_harness.h"

#include <algorithm>

namespace sluice::core::testing {

namespace {

constexpr std::uint64_t kIdKey = 0x5105CE;

// More rounds at one moment mean that the machine asks again and again.
constexpr int kRoundsMax = 200'000;

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

bool IsEmpty(const Effects& effects) {
  return effects.attempts.empty() && effects.window_loads.empty() && effects.task_loads.empty() &&
         effects.oldest_queries.empty() && effects.purged_queries.empty() &&
         effects.tombstone_queries.empty() && effects.ended.empty();
}

}  // namespace

Time TestEpoch() { return absl::FromUnixSeconds(2'000'000'000); }

QueueName TestQueue(std::string_view queue_id) {
  return QueueName{LocationName{"p", "l"}, std::string(queue_id)};
}

TaskName TestTask(std::string_view queue_id, std::string_view task_id) {
  return TaskName{TestQueue(queue_id), std::string(task_id)};
}

MachineHarness::MachineHarness(const TaskLimits& limits) : limits_(limits) { StartMachine(true); }

void MachineHarness::StartMachine(bool is_new) {
  machine_ = std::make_unique<TaskMachine>(limits_, ledger_, effects_);
  machine_->RestoreGeneratedIdKey(kIdKey);
  if (!is_new) {
    for (const auto& [incarnation, records] : ledger_.queues()) {
      machine_->RestoreQueue(records.queue, records.counters, now_);
      for (const auto& [sequence, letter] : records.dead_letters) {
        machine_->RestoreDeadLetter(incarnation, sequence, letter.second);
      }
    }
    for (const auto& [name, until] : ledger_.reservations()) {
      machine_->RestoreQueueReservation(name, until);
    }
    machine_->RestoreCounters(next_incarnation_, next_sequence_);
    machine_->RestoreTombstoneFloor(tombstone_floor_);
  }
  machine_->Start(now_);
  Collect();
}

void MachineHarness::Restart() {
  effects_.Clear();
  open_.clear();
  pending_.clear();
  ledger_.Cool();
  StartMachine(false);
}

void MachineHarness::Collect() {
  for (StartAttempt& attempt : effects_.attempts) open_.push_back(std::move(attempt));
  for (auto& load : effects_.window_loads) {
    pending_.push_back({.request = load});
    const auto queue = ledger_.queues().find(load.queue);
    if (queue != ledger_.queues().end()) pending_.back().schedule_then = queue->second.schedule;
  }
  for (auto& load : effects_.task_loads) pending_.push_back({.request = std::move(load)});
  for (auto& query : effects_.oldest_queries) pending_.push_back({.request = query});
  for (auto& query : effects_.purged_queries) pending_.push_back({.request = query});
  for (auto& query : effects_.tombstone_queries) pending_.push_back({.request = query});
  ended_.insert(ended_.end(), effects_.ended.begin(), effects_.ended.end());
  effects_.Clear();

  SLUICE_CHECK(machine_->next_incarnation() >= next_incarnation_, "incarnations go back");
  SLUICE_CHECK(machine_->next_sequence() >= next_sequence_, "sequences go back");
  SLUICE_CHECK(machine_->tombstone_floor() >= tombstone_floor_, "the tombstone floor goes back");
  next_incarnation_ = machine_->next_incarnation();
  next_sequence_ = machine_->next_sequence();
  tombstone_floor_ = machine_->tombstone_floor();
  if (!checks_ledger_) return;
  ledger_.Check();
  const auto below = ledger_.ReadTombstones(
      {.from = absl::InfinitePast(), .until = tombstone_floor_, .rows_max = 1});
  SLUICE_CHECK(
      below.tombstones.empty() || below.tombstones.front().reserved_until == tombstone_floor_,
      "a tombstone ends before the floor");
}

template <typename Command>
auto MachineHarness::Run(Command command) {
  for (;;) {
    const std::size_t writes = ledger_.writes();
    auto result = command();
    if (!IsColdRead(StatusOf(result))) {
      Collect();
      return result;
    }
    SLUICE_CHECK(ledger_.writes() == writes && IsEmpty(effects_) &&
                     machine_->next_sequence() == next_sequence_,
                 "a cold command left a trace");
    ++cold_commands_;
    ledger_.WarmWhatWasCold();
  }
}

void MachineHarness::Advance() {
  machine_->Advance(now_);
  Collect();
}

void MachineHarness::Settle() {
  int rounds = 0;
  do {
    SLUICE_CHECK(++rounds < kRoundsMax, "the machine spins");
    while (!pending_.empty()) Deliver(0);
    Advance();
  } while (!pending_.empty() || machine_->NextDeadline() <= now_);
}

void MachineHarness::RunUntil(Time until) {
  Settle();
  while (machine_->NextDeadline() <= until) {
    SLUICE_CHECK(machine_->NextDeadline() > now_, "a deadline in the past");
    now_ = machine_->NextDeadline();
    Settle();
  }
  now_ = std::max(now_, until);
  Settle();
}

void MachineHarness::SkipTo(Time t) {
  SLUICE_CHECK(t >= now_, "time goes back");
  now_ = t;
}

StatusOr<Queue> MachineHarness::CreateQueue(std::string_view queue_id, const QueuePatch& settings) {
  return Run([&] { return machine_->CreateQueue(TestQueue(queue_id), settings, now_); });
}
StatusOr<Queue> MachineHarness::UpdateQueue(std::string_view queue_id, const QueuePatch& patch) {
  return Run([&] { return machine_->UpdateQueue(TestQueue(queue_id), patch, now_); });
}
Status MachineHarness::DeleteQueue(std::string_view queue_id) {
  return Run([&] { return machine_->DeleteQueue(TestQueue(queue_id), now_); });
}
StatusOr<Queue> MachineHarness::PauseQueue(std::string_view queue_id) {
  return Run([&] { return machine_->PauseQueue(TestQueue(queue_id), now_); });
}
StatusOr<Queue> MachineHarness::ResumeQueue(std::string_view queue_id) {
  return Run([&] { return machine_->ResumeQueue(TestQueue(queue_id), now_); });
}
StatusOr<Queue> MachineHarness::PurgeQueue(std::string_view queue_id) {
  return Run([&] { return machine_->PurgeQueue(TestQueue(queue_id), now_); });
}
StatusOr<Task> MachineHarness::CreateTask(std::string_view queue_id, NewTask task) {
  return Run([&] { return machine_->CreateTask(TestQueue(queue_id), std::move(task), now_); });
}
StatusOr<Task> MachineHarness::GetTask(std::string_view queue_id, std::string_view task_id) {
  return Run([&] { return machine_->GetTask(TestTask(queue_id, task_id), now_); });
}
Status MachineHarness::DeleteTask(std::string_view queue_id, std::string_view task_id) {
  return Run([&] { return machine_->DeleteTask(TestTask(queue_id, task_id), now_); });
}
StatusOr<Task> MachineHarness::RunTask(std::string_view queue_id, std::string_view task_id) {
  return Run([&] { return machine_->RunTask(TestTask(queue_id, task_id), now_); });
}
StatusOr<Explanation> MachineHarness::ExplainTask(std::string_view queue_id,
                                                  std::string_view task_id) {
  return Run([&] { return machine_->ExplainTask(TestTask(queue_id, task_id), now_); });
}

StatusOr<DeadLetterStep> MachineHarness::ListDeadLetters(std::string_view queue_id,
                                                         const DeadLetterSelection& selection) {
  return Run([&] { return machine_->ListDeadLetters(TestQueue(queue_id), selection, now_); });
}

StatusOr<DeadLetterStep> MachineHarness::RedriveDeadLetters(std::string_view queue_id,
                                                            const DeadLetterSelection& selection) {
  return Run([&] { return machine_->RedriveDeadLetters(TestQueue(queue_id), selection, now_); });
}

StatusOr<DeadLetterStep> MachineHarness::DeleteDeadLetters(std::string_view queue_id,
                                                           const DeadLetterSelection& selection) {
  return Run([&] { return machine_->DeleteDeadLetters(TestQueue(queue_id), selection, now_); });
}

void MachineHarness::Finish(AttemptId id, const AttemptOutcome& outcome) {
  const auto it = std::find_if(open_.begin(), open_.end(),
                               [id](const StartAttempt& attempt) { return attempt.id == id; });
  SLUICE_CHECK(it != open_.end(), "no such open attempt");
  open_.erase(it);
  machine_->AttemptFinished(id, outcome, now_);
  Collect();
}

void MachineHarness::Respond(AttemptId id, std::int32_t http_status) {
  Finish(id, AttemptOutcome{.http_status = http_status});
}

void MachineHarness::RespondFirst(std::int32_t http_status) {
  SLUICE_CHECK(!open_.empty(), "no open attempt");
  Respond(open_.front().id, http_status);
}

void MachineHarness::Read(PendingLoad& load) {
  if (load.is_read) return;
  load.is_read = true;
  if (const auto* window = std::get_if<LoadWindow>(&load.request)) {
    load.answer = ledger_.ReadWindow(*window);
  } else if (const auto* tasks = std::get_if<LoadTasks>(&load.request)) {
    ledger_.Warm(*tasks);
  } else if (const auto* oldest = std::get_if<FindOldest>(&load.request)) {
    load.answer = ledger_.ReadOldest(*oldest);
  } else if (const auto* purged = std::get_if<FindPurged>(&load.request)) {
    load.answer = ledger_.ReadPurged(*purged);
  } else if (const auto* tombstones = std::get_if<FindTombstones>(&load.request)) {
    load.answer = ledger_.ReadTombstones(*tombstones);
  }
}

void MachineHarness::ReadMixed(PendingLoad& load, const std::function<bool()>& shows_old) {
  const auto* request = std::get_if<LoadWindow>(&load.request);
  if (request == nullptr || load.is_read) return;
  load.is_read = true;
  const std::set<ScheduleKey>& then = load.schedule_then;
  const auto queue = ledger_.queues().find(request->queue);
  const std::set<ScheduleKey> now =
      queue == ledger_.queues().end() ? std::set<ScheduleKey>() : queue->second.schedule;
  std::set<ScheduleKey> mixed;
  for (const ScheduleKey key : then) {
    if (now.contains(key) || shows_old()) mixed.insert(key);
  }
  for (const ScheduleKey key : now) {
    if (then.contains(key) || !shows_old()) mixed.insert(key);
  }
  MapLedger::Rows rows;
  auto it = mixed.upper_bound(request->after);
  for (; it != mixed.end() && rows.entries.size() < request->rows_max; ++it) {
    rows.entries.push_back(*it);
  }
  rows.is_complete = it == mixed.end();
  load.answer = std::move(rows);
}

void MachineHarness::Deliver(std::size_t index) {
  PendingLoad load = std::move(pending_[index]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  Read(load);
  if (const auto* window = std::get_if<LoadWindow>(&load.request)) {
    const auto& rows = std::get<MapLedger::Rows>(load.answer);
    machine_->WindowLoaded(*window, rows.entries, rows.is_complete, now_);
  } else if (const auto* tasks = std::get_if<LoadTasks>(&load.request)) {
    machine_->TasksLoaded(*tasks, now_);
  } else if (const auto* oldest = std::get_if<FindOldest>(&load.request)) {
    machine_->OldestFound(*oldest, std::get<std::optional<TaskMachine::Oldest>>(load.answer), now_);
  } else if (const auto* purged = std::get_if<FindPurged>(&load.request)) {
    const auto& bodies = std::get<MapLedger::Bodies>(load.answer);
    machine_->PurgedFound(*purged, bodies.sequences, bodies.is_complete, now_);
  } else if (const auto* tombstones = std::get_if<FindTombstones>(&load.request)) {
    const auto& found = std::get<MapLedger::Tombstones>(load.answer);
    machine_->TombstonesFound(*tombstones, found.tombstones, found.is_complete, now_);
  }
  Collect();
}

}  // namespace sluice::core::testing
