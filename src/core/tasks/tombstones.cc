// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/tombstones.h"

#include <algorithm>
#include <optional>

#include "base/status.h"

namespace sluice::core {

namespace {

// The shortest life of a tombstone: what is added later does not end earlier
// than a query looks ahead.
constexpr Duration kLookahead = absl::Hours(1);
// Tombstones that end close to each other share a sweep.
constexpr Duration kSweepInterval = absl::Seconds(1);

}  // namespace

void TombstoneSweep::RestoreFloor(Time floor) { floor_ = std::max(floor_, floor); }

void TombstoneSweep::Added(Time reserved_until) {
  if (is_query_open_) {
    added_first_ = std::min(added_first_, reserved_until);
  } else if (reserved_until < next_query_) {
    next_query_ = std::max(reserved_until, query_time_ + kSweepInterval);
  }
}

void TombstoneSweep::Reused(Incarnation queue, std::string_view task_id) {
  if (is_query_open_) reused_.emplace(queue, std::string(task_id));
}

FindTombstones TombstoneSweep::BeginQuery(Time now) {
  SLUICE_CHECK(!is_query_open_, "two sweeps at a time");
  is_query_open_ = true;
  query_time_ = now;
  added_first_ = absl::InfiniteFuture();
  return FindTombstones{.from = floor_, .until = now + kLookahead, .rows_max = rows_max_};
}

void TombstoneSweep::Found(const FindTombstones& request,
                           std::span<const TaskMachine::Tombstone> tombstones, bool is_complete,
                           Time now, Ledger& ledger) {
  if (!is_query_open_) return;
  is_query_open_ = false;

  std::optional<Time> first_left;
  Time last_swept = request.from;
  for (const TaskMachine::Tombstone& tombstone : tombstones) {
    if (tombstone.reserved_until > now) {
      first_left = tombstone.reserved_until;
      break;
    }
    last_swept = tombstone.reserved_until;
    if (reused_.contains({tombstone.queue, tombstone.task_id})) continue;
    ledger.EraseName(tombstone.queue, tombstone.task_id,
                     NameEntry{.sequence = 0, .reserved_until = tombstone.reserved_until});
  }
  reused_.clear();

  if (!first_left.has_value() && !is_complete) {
    floor_ = std::max(floor_, std::min(last_swept, query_time_));
    next_query_ = now;
    return;
  }
  // Whatever was written since the query ends after it.
  floor_ = std::max(floor_, query_time_);
  next_query_ = std::max(std::min(first_left.value_or(request.until), added_first_),
                         query_time_ + kSweepInterval);
}

}  // namespace sluice::core
