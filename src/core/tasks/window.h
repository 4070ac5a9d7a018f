// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of one queue's schedule that is in memory: the next entries, up to a
// bound. It decides nothing about dispatch; it keeps a small ordered copy true
// while the whole lies in the ledger and parts of it are read in the background.
//
// What holds: every entry of the ledger's schedule with a key <= bound is in
// the window, unless its task is in flight or purged. A complete window has no
// bound: it holds everything.
//
// Threading: one thread. Failure: none; an answer that does not fit is dropped
// and asked for again.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "core/tasks/model.h"

namespace sluice::core {

class Window {
 public:
  /// A complete window of a queue without tasks. Requires: rows_max >= 1.
  Window(std::size_t rows_max, std::size_t rows_low);

  /// Knows nothing of what follows `bound`. For a restored queue.
  void StartAt(ScheduleKey bound);
  /// Nothing that was scheduled so far counts any more (purge).
  void Reset();

  /// An entry came into the ledger, or its task is no longer in flight.
  void Insert(ScheduleKey key);
  /// An entry left the ledger, or its task is in flight now.
  void Erase(ScheduleKey key);

  [[nodiscard]] bool WantsLoad() const;
  /// Requires: WantsLoad(). `*after` and `*rows_max` are what to ask for.
  void BeginLoad(ScheduleKey* after, std::size_t* rows_max);
  /// `entries` follow `after` without a gap; `is_absent` says which of them must
  /// not come in (in flight, purged).
  void Loaded(ScheduleKey after, std::span<const ScheduleKey> entries, bool is_complete,
              const std::function<bool(ScheduleKey)>& is_absent);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Requires: !empty().
  [[nodiscard]] ScheduleKey front() const { return *entries_.begin(); }
  [[nodiscard]] const absl::btree_set<ScheduleKey>& entries() const { return entries_; }
  /// Every entry at or before it is in the window; nothing: the window is complete.
  [[nodiscard]] std::optional<ScheduleKey> bound() const { return bound_; }
  [[nodiscard]] bool is_loading() const { return load_ != Load::kNone; }

 private:
  // kVoid: an answer is due that must be ignored.
  enum class Load { kNone, kAsked, kVoid };

  void Remember(ScheduleKey key, bool is_present);
  void Trim();

  std::size_t rows_max_;
  std::size_t rows_low_;
  absl::btree_set<ScheduleKey> entries_;  // at most rows_max_ between calls
  std::optional<ScheduleKey> bound_;

  Load load_ = Load::kNone;
  ScheduleKey load_after_;
  // What happened beyond the bound since the load was asked for; the answer may
  // be older or newer than any of it, so the last change of a key decides.
  absl::btree_map<ScheduleKey, bool> changes_;  // at most changes_max()
  // Changes behind this one were forgotten to stay within that size.
  std::optional<ScheduleKey> changes_end_;
};

}  // namespace sluice::core
