// SPDX-License-Identifier: Apache-2.0
#pragma once

// A ledger of plain maps for tests. It refuses what no correct machine asks of
// it (changes of records that are not there, progress that does not follow from
// the stored one, a tombstone overwritten without leaving the order of expiry)
// by ending the process, and can make reads cold.
//
// It outlives the machine, so a restart is a new machine over the same ledger.
//
// Threading: one thread.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tasks/effects.h"
#include "core/tasks/ledger.h"
#include "core/tasks/machine.h"
#include "core/tasks/model.h"

namespace sluice::core::testing {

class MapLedger final : public Ledger {
 public:
  /// What one queue has stored.
  struct QueueRecords {
    Queue queue;
    QueueCounters counters;
    std::map<Sequence, Task> tasks;
    std::set<ScheduleKey> schedule;
    std::map<std::string, NameEntry, std::less<>> names;
    std::map<Sequence, std::pair<DeadLetter, DeadLetterHead>> dead_letters;
  };

  // --- Ledger ---
  Lookup FindTask(Incarnation queue, Sequence sequence, Task* task) override;
  Lookup FindName(Incarnation queue, std::string_view task_id, NameEntry* entry) override;
  void PutQueue(const Queue& queue) override;
  void EraseQueue(const Queue& queue) override;
  void PutQueueReservation(const QueueName& name, Time until) override;
  void EraseQueueReservation(const QueueName& name) override;
  void PutTask(Incarnation queue, std::shared_ptr<const TaskBody> body) override;
  void PutProgress(Incarnation queue, const Task& before, const TaskProgress& after) override;
  void EraseTask(Incarnation queue, const Task& task) override;
  void PutName(Incarnation queue, std::string_view task_id, const NameEntry& entry) override;
  void EraseName(Incarnation queue, std::string_view task_id, const NameEntry& entry) override;
  Lookup FindDeadLetter(Incarnation queue, Sequence sequence, DeadLetter* letter) override;
  void PutDeadLetter(Incarnation queue, const DeadLetter& letter,
                     const DeadLetterHead& head) override;
  void EraseDeadLetter(Incarnation queue, Sequence sequence) override;
  void PutCounters(Incarnation queue, const QueueCounters& counters) override;

  // --- What the machine's queries ask for ---
  struct Rows {
    std::vector<ScheduleKey> entries;
    bool is_complete = false;
  };
  [[nodiscard]] Rows ReadWindow(const LoadWindow& request) const;
  [[nodiscard]] std::optional<TaskMachine::Oldest> ReadOldest(const FindOldest& request) const;
  struct Bodies {
    std::vector<Sequence> sequences;
    bool is_complete = false;
  };
  /// Makes them warm.
  [[nodiscard]] Bodies ReadPurged(const FindPurged& request);
  struct Tombstones {
    std::vector<TaskMachine::Tombstone> tombstones;
    bool is_complete = false;
  };
  [[nodiscard]] Tombstones ReadTombstones(const FindTombstones& request) const;

  // --- Cold reads ---
  /// From now on a record is cold until it is written or warmed.
  void MakeReadsCold() { has_cold_reads_ = true; }
  /// Forgets what is warm.
  void Cool();
  void Warm(const LoadTasks& request);
  /// Warms what was found cold since the last call.
  void WarmWhatWasCold();

  // --- For checks ---
  [[nodiscard]] const std::map<Incarnation, QueueRecords>& queues() const { return queues_; }
  [[nodiscard]] const std::map<QueueName, Time>& reservations() const { return reservations_; }
  [[nodiscard]] std::size_t tombstone_count() const { return expiry_.size(); }
  /// Grows with every change.
  [[nodiscard]] std::size_t writes() const { return writes_; }
  /// Ends the process when the records of some queue contradict each other or
  /// its counters.
  void Check() const;

 private:
  using TaskKey = std::pair<Incarnation, Sequence>;
  using NameKey = std::pair<Incarnation, std::string>;

  QueueRecords& Records(Incarnation queue);

  std::map<Incarnation, QueueRecords> queues_;
  std::map<QueueName, Time> reservations_;
  std::set<std::tuple<Time, Incarnation, std::string>> expiry_;
  std::size_t writes_ = 0;

  bool has_cold_reads_ = false;
  std::set<TaskKey> warm_tasks_;
  std::set<NameKey> warm_names_;  // absent ones too
  std::set<TaskKey> warm_letters_;
  std::set<TaskKey> cold_tasks_;  // asked for, not warm
  std::set<NameKey> cold_names_;
  std::set<TaskKey> cold_letters_;
};

}  // namespace sluice::core::testing
