// SPDX-License-Identifier: Apache-2.0
#pragma once

// A task machine with the world around it played by the test: time moves when
// told, attempts wait for the test's answer, loads are answered from a
// MapLedger - at once by Settle, or one by one, late and out of date, when the
// test takes `pending` into its own hands. Cold commands run again like the
// engine does it. After every call the ledger is checked.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "core/tasks/testing/map_ledger.h"

namespace sluice::core::testing {

/// Where tests' times begin: a round moment, in whole seconds.
[[nodiscard]] Time TestEpoch();

/// `projects/p/locations/l/queues/ID`
[[nodiscard]] QueueName TestQueue(std::string_view queue_id);
[[nodiscard]] TaskName TestTask(std::string_view queue_id, std::string_view task_id);

/// A question of the machine that waits for its answer.
struct PendingLoad {
  std::variant<LoadWindow, LoadTasks, FindOldest, FindPurged, FindTombstones> request;
  /// What was read from the ledger, perhaps long before it is delivered.
  std::variant<std::monostate, MapLedger::Rows, std::optional<TaskMachine::Oldest>,
               MapLedger::Bodies, MapLedger::Tombstones>
      answer;
  bool is_read = false;
  /// For a LoadWindow: the queue's whole schedule when it was asked for.
  std::set<ScheduleKey> schedule_then;
};

class MachineHarness {
 public:
  explicit MachineHarness(const TaskLimits& limits = {});

  /// For tests with so many tasks that looking at all of them after every call
  /// takes too long.
  void LeaveLedgerUnchecked() { checks_ledger_ = false; }

  // --- Time ---
  [[nodiscard]] Time now() const { return now_; }
  /// Time since TestEpoch.
  [[nodiscard]] Duration elapsed() const { return now_ - TestEpoch(); }
  /// Answers loads and advances until nothing is left to do now. Attempts stay open.
  void Settle();
  /// Moves time to every deadline up to `until`, settling at each.
  void RunUntil(Time until);
  void RunFor(Duration span) { RunUntil(now_ + span); }
  /// Moves time without giving the machine a turn.
  void SkipTo(Time t);
  /// One call of Advance, and nothing answered.
  void Advance();

  // --- Commands, repeated after cold reads ---
  StatusOr<Queue> CreateQueue(std::string_view queue_id, const QueuePatch& settings = {});
  StatusOr<Queue> UpdateQueue(std::string_view queue_id, const QueuePatch& patch);
  Status DeleteQueue(std::string_view queue_id);
  StatusOr<Queue> PauseQueue(std::string_view queue_id);
  StatusOr<Queue> ResumeQueue(std::string_view queue_id);
  StatusOr<Queue> PurgeQueue(std::string_view queue_id);
  StatusOr<Task> CreateTask(std::string_view queue_id, NewTask task = {});
  StatusOr<Task> GetTask(std::string_view queue_id, std::string_view task_id);
  Status DeleteTask(std::string_view queue_id, std::string_view task_id);
  StatusOr<Task> RunTask(std::string_view queue_id, std::string_view task_id);
  StatusOr<Explanation> ExplainTask(std::string_view queue_id, std::string_view task_id);
  StatusOr<DeadLetterStep> ListDeadLetters(std::string_view queue_id,
                                           const DeadLetterSelection& selection);
  StatusOr<DeadLetterStep> RedriveDeadLetters(std::string_view queue_id,
                                              const DeadLetterSelection& selection);
  StatusOr<DeadLetterStep> DeleteDeadLetters(std::string_view queue_id,
                                             const DeadLetterSelection& selection);

  // --- Attempts ---
  /// Sent and not answered, in the order of sending.
  [[nodiscard]] const std::deque<StartAttempt>& open() const { return open_; }
  /// Answers the open attempt with this id.
  void Finish(AttemptId id, const AttemptOutcome& outcome);
  void Respond(AttemptId id, std::int32_t http_status);
  /// Answers the longest open one. Requires: one is open.
  void RespondFirst(std::int32_t http_status);

  // --- Loads in the test's own hands ---
  std::vector<PendingLoad>& pending() { return pending_; }
  /// Reads the answer from the ledger as it is now.
  void Read(PendingLoad& load);
  /// The same for a LoadWindow, like an engine that reads a store which moves on
  /// underneath: of what changed since the question, `shows_old` says for each
  /// entry whether the answer has its old state.
  void ReadMixed(PendingLoad& load, const std::function<bool()>& shows_old);
  /// Hands pending()[index] to the machine, reading it first unless that was done.
  void Deliver(std::size_t index);

  /// A crash at this moment: the machine, open attempts and questions are gone,
  /// the ledger stays.
  void Restart();

  TaskMachine& machine() { return *machine_; }
  MapLedger& ledger() { return ledger_; }
  /// What ended since the test last cleared it.
  std::vector<TaskEnded>& ended() { return ended_; }
  /// Commands that found something cold.
  [[nodiscard]] std::size_t cold_commands() const { return cold_commands_; }

 private:
  template <typename Command>
  auto Run(Command command);
  void Collect();
  void StartMachine(bool is_new);

  TaskLimits limits_;
  MapLedger ledger_;
  Effects effects_;
  std::unique_ptr<TaskMachine> machine_;
  Time now_ = TestEpoch();
  bool checks_ledger_ = true;

  // What the engine writes into every frame.
  Incarnation next_incarnation_ = 1;
  Sequence next_sequence_ = 1;
  Time tombstone_floor_ = absl::InfinitePast();

  std::deque<StartAttempt> open_;
  std::vector<PendingLoad> pending_;
  std::vector<TaskEnded> ended_;
  std::size_t cold_commands_ = 0;
};

}  // namespace sluice::core::testing
