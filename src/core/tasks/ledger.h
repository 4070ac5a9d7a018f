// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the core knows of the state that may not fit in memory, and how it
// changes it. The engine implements it over the store with an overlay of
// changes that are not in the store yet; tests use a plain map.
//
// Reads see every earlier write, durable or not. A read may answer kCold: the
// record is on disk and the core must not wait for it. The core then leaves no
// trace of the command and returns `ColdRead()`; the engine reads the record in
// the background and runs the command again from its start. So: all reads of a
// command come before its first write.
//
// Threading: one thread, that of the lane.

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "core/tasks/model.h"

namespace sluice::core {

enum class Lookup : std::uint8_t { kFound, kAbsent, kCold };

/// The status a command returns when a read was cold. Never reaches a client.
[[nodiscard]] Status ColdRead();
[[nodiscard]] bool IsColdRead(const Status& status);

class Ledger {
 public:
  virtual ~Ledger() = default;

  virtual Lookup FindTask(Incarnation queue, Sequence sequence, Task* task) = 0;
  virtual Lookup FindName(Incarnation queue, std::string_view task_id, NameEntry* entry) = 0;

  virtual void PutQueue(const Queue& queue) = 0;
  /// Removes the queue and every record of its incarnation.
  virtual void EraseQueue(const Queue& queue) = 0;
  /// A deleted queue's name that may not be created again before `until`.
  virtual void PutQueueReservation(const QueueName& name, Time until) = 0;
  virtual void EraseQueueReservation(const QueueName& name) = 0;

  /// A new task: its body and its schedule entry at `body->schedule_time`.
  virtual void PutTask(Incarnation queue, std::shared_ptr<const TaskBody> body) = 0;
  /// Replaces the progress of a live task, whose schedule entry moves from
  /// `before.progress.schedule_time` to `after.schedule_time` when they differ.
  virtual void PutProgress(Incarnation queue, const Task& before, const TaskProgress& after) = 0;
  /// Removes body, progress and schedule entry, not the name.
  virtual void EraseTask(Incarnation queue, const Task& task) = 0;

  /// Sets where a name points; a tombstone also enters the order of expiry.
  virtual void PutName(Incarnation queue, std::string_view task_id, const NameEntry& entry) = 0;
  /// Removes a name and, if `entry` is a tombstone, its place in the order of expiry.
  virtual void EraseName(Incarnation queue, std::string_view task_id, const NameEntry& entry) = 0;

  virtual Lookup FindDeadLetter(Incarnation queue, Sequence sequence, DeadLetter* letter) = 0;
  virtual void PutDeadLetter(Incarnation queue, const DeadLetter& letter,
                             const DeadLetterHead& head) = 0;
  virtual void EraseDeadLetter(Incarnation queue, Sequence sequence) = 0;

  virtual void PutCounters(Incarnation queue, const QueueCounters& counters) = 0;
};

}  // namespace sluice::core
