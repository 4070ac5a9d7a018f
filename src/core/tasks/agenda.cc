// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/agenda.h"

namespace sluice::core {

void Agenda::SetAlarm(Incarnation queue, Appointment* appointment, Time at) {
  if (appointment->alarm == at) return;
  if (appointment->alarm != absl::InfiniteFuture()) alarms_.erase({appointment->alarm, queue});
  appointment->alarm = at;
  if (at != absl::InfiniteFuture()) alarms_.insert({at, queue});
}

std::optional<Incarnation> Agenda::FirstDue(Time now) const {
  if (alarms_.empty() || alarms_.begin()->first > now) return std::nullopt;
  return alarms_.begin()->second;
}

Time Agenda::next_alarm() const {
  return alarms_.empty() ? absl::InfiniteFuture() : alarms_.begin()->first;
}

void Agenda::AddTurn(Incarnation queue, Appointment* appointment) {
  if (appointment->has_turn) return;
  appointment->has_turn = true;
  turns_.push_back(queue);
}

Incarnation Agenda::TakeTurn() {
  const Incarnation queue = turns_.front();
  turns_.pop_front();
  return queue;
}

void Agenda::Remove(Incarnation queue, Appointment* appointment) {
  SetAlarm(queue, appointment, absl::InfiniteFuture());
  if (appointment->has_turn) {
    std::erase(turns_, queue);
    appointment->has_turn = false;
  }
}

}  // namespace sluice::core
