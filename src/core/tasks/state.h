// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything the machine has in memory, and its two seams. A plain record that
// the rules in this folder work on; only machine.cc creates one. Where to look:
//   queue_commands  task_commands  explain     what clients ask for
//   dispatch        outcome                    attempts begin and end
//   lifecycle                                  how a task enters and leaves
//   dead_letters                               what is kept of those that gave up
//   expiry  purge  tombstones                  what ends by itself
//   window  agenda  token_bucket  retry        when it is whose turn
//
// Threading: one thread, that of the machine.

#include "core/tasks/agenda.h"
#include "core/tasks/catalogue.h"
#include "core/tasks/dead_letters.h"
#include "core/tasks/effects.h"
#include "core/tasks/ledger.h"
#include "core/tasks/machine.h"
#include "core/tasks/open_attempts.h"
#include "core/tasks/tombstones.h"

namespace sluice::core {

struct MachineState {
  MachineState(const TaskLimits& l, Ledger& led, Effects& eff)
      : limits(l),
        ledger(led),
        effects(eff),
        attempts(l.in_flight_max, l.in_flight_bytes_max),
        tombstones(l.purge_rows_max) {}

  const TaskLimits limits;
  Ledger& ledger;
  Effects& effects;

  Incarnation next_incarnation = 1;
  Sequence next_sequence = 1;
  std::uint64_t id_key = 0;
  Time now = absl::InfinitePast();  // the latest any call was given; never goes back

  Catalogue catalogue;
  Agenda agenda;
  OpenAttempts attempts;
  TombstoneSweep tombstones;
  DeadLetterIndex dead_letters;
};

}  // namespace sluice::core
