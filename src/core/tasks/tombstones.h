// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sweeps away tombstones - names of ended tasks - once their time is over. A
// lookup does not need it: an expired tombstone counts as absent there. One
// query at a time looks an hour ahead, so an idle server wakes when the next
// one expires and not to look for one.
//
// Threading: one thread.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "core/tasks/effects.h"
#include "core/tasks/ledger.h"
#include "core/tasks/machine.h"

namespace sluice::core {

class TombstoneSweep {
 public:
  explicit TombstoneSweep(std::size_t rows_max) : rows_max_(rows_max) {}

  void RestoreFloor(Time floor);
  /// The first look.
  void Start(Time now) { next_query_ = now; }

  /// A tombstone was written.
  void Added(Time reserved_until);
  /// A create took over the name of an expired tombstone.
  void Reused(Incarnation queue, std::string_view task_id);

  /// When to ask next; InfiniteFuture while an answer is due.
  [[nodiscard]] Time due() const { return is_query_open_ ? absl::InfiniteFuture() : next_query_; }
  /// Requires: due() <= now.
  FindTombstones BeginQuery(Time now);
  void Found(const FindTombstones& request, std::span<const TaskMachine::Tombstone> tombstones,
             bool is_complete, Time now, Ledger& ledger);

  /// No tombstone expires before it.
  [[nodiscard]] Time floor() const { return floor_; }

 private:
  std::size_t rows_max_;
  Time floor_ = absl::InfinitePast();
  Time next_query_ = absl::InfiniteFuture();

  bool is_query_open_ = false;
  Time query_time_ = absl::InfinitePast();
  Time added_first_ = absl::InfiniteFuture();  // earliest end added since the query
  // Names reused since the query: what the answer says of them is out of date.
  // Bounded by the expired tombstones that are not swept yet.
  absl::btree_set<std::pair<Incarnation, std::string>> reused_;
};

}  // namespace sluice::core
