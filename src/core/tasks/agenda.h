// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which queue must be looked at when, and which have something to send now, in
// the order in which they take turns. So that ten thousand idle queues cost
// nothing, and a busy one cannot keep the others waiting. What is to be done
// with a queue it does not know.
//
// Threading: one thread.

#include <deque>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "base/time.h"
#include "core/tasks/model.h"

namespace sluice::core {

/// A queue's own entry in the agenda; lives in the queue.
struct Appointment {
  Time alarm = absl::InfiniteFuture();
  bool has_turn = false;
};

class Agenda {
 public:
  /// Sets the time of the queue's only alarm; InfiniteFuture: none.
  void SetAlarm(Incarnation queue, Appointment* appointment, Time at);
  /// The queue whose alarm is due first, if that is by `now`. Equal times go by incarnation.
  [[nodiscard]] std::optional<Incarnation> FirstDue(Time now) const;
  [[nodiscard]] Time next_alarm() const;

  /// Queues up for a turn, behind all others, unless it waits already.
  void AddTurn(Incarnation queue, Appointment* appointment);
  [[nodiscard]] bool has_turns() const { return !turns_.empty(); }
  /// Requires: has_turns(). The caller clears the queue's `has_turn`.
  Incarnation TakeTurn();

  void Remove(Incarnation queue, Appointment* appointment);

 private:
  absl::btree_set<std::pair<Time, Incarnation>> alarms_;
  std::deque<Incarnation> turns_;  // each live queue at most once
};

}  // namespace sluice::core
