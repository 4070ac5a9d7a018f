// SPDX-License-Identifier: Apache-2.0
#pragma once

// One queue in memory: its settings and counters as they are in the ledger, and
// what exists only while the process runs. A plain record; the rules that keep
// it true are in lifecycle.h and the files named at the members.

#include <cstdint>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/tasks/agenda.h"
#include "core/tasks/effects.h"
#include "core/tasks/minute_counter.h"
#include "core/tasks/model.h"
#include "core/tasks/throttle.h"
#include "core/tasks/token_bucket.h"
#include "core/tasks/window.h"

namespace sluice::core {

/// A live task with at least one open attempt. It is not in the window; its
/// entry in the ledger's schedule stays, so that a crash makes it due again.
struct Flight {
  Task task;
  std::int32_t open_attempts = 0;
  AttemptId latest = 0;  // the one `task.progress.last_attempt` describes
};

/// What is known of the oldest live task, for expiry (expiry.h). Both bounds
/// hold at all times; a query makes them sharp.
struct OldestTask {
  Sequence sequence_min = 0;
  Time create_time_min = absl::InfinitePast();

  bool is_query_open = false;
  Sequence query_sequence_next = 0;  // later tasks may be missing in the answer
  Time query_time;
  std::uint64_t ends_since_query = 0;
  std::optional<Sequence> loading;  // being brought into memory to end it
};

/// Purged tasks that are still in the ledger (purge.h).
struct PurgeCleaning {
  bool is_running = false;
  Sequence next = 0;  // everything below is gone
  // How many to ask for. Shrinks when a step found its rows cold again, since
  // they may not fit into a small cache together.
  std::size_t rows_max = 1;
  bool is_query_open = false;
};

struct QueueRuntime {
  QueueRuntime(const Queue& q, TokenBucket b, Window w)
      : queue(q), bucket(b), window(std::move(w)) {}

  Queue queue;
  QueueCounters counters;
  std::optional<QueueCounters> counters_saved;  // as the ledger has them

  TokenBucket bucket;  // at the pace that Throttle leaves; see ApplyPace
  Throttle throttle;
  Window window;
  absl::flat_hash_map<Sequence, Flight> flights;  // for lookup, never iterated
  absl::btree_set<ScheduleKey> flight_keys;       // their entries in the ledger's schedule
  std::int32_t open_attempts = 0;                 // of ended tasks too

  // The task at the front of the window was cold and is being loaded.
  std::optional<Sequence> cold_front;
  // The front that was loaded last. Cold again, it is loaded alone: the others
  // may have pushed it out of a small cache.
  std::optional<Sequence> loaded_front;

  OldestTask oldest;
  PurgeCleaning cleaning;
  MinuteCounter executed;
  Appointment appointment;

  [[nodiscard]] Incarnation incarnation() const { return queue.incarnation; }
  [[nodiscard]] bool IsPurged(Sequence sequence) const { return sequence <= queue.purged_through; }
  [[nodiscard]] bool IsExpired(const TaskBody& body, Time now) const {
    return body.create_time + queue.config.task_ttl <= now;
  }
};

}  // namespace sluice::core
