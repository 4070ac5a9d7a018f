// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/window.h"

#include <algorithm>

#include "base/status.h"

namespace sluice::core {

namespace {

// Changes remembered during a load, for each row the window may hold.
constexpr std::size_t kChangesPerRow = 4;

}  // namespace

Window::Window(std::size_t rows_max, std::size_t rows_low)
    : rows_max_(rows_max), rows_low_(std::min(rows_low, rows_max)) {
  SLUICE_CHECK(rows_max >= 1, "a window must hold something");
  rows_low_ = std::max<std::size_t>(rows_low_, 1);
}

void Window::StartAt(ScheduleKey bound) {
  Reset();
  bound_ = bound;
}

void Window::Reset() {
  entries_.clear();
  bound_.reset();
  changes_.clear();
  changes_end_.reset();
  if (load_ == Load::kAsked) load_ = Load::kVoid;
}

void Window::Insert(ScheduleKey key) {
  if (bound_.has_value() && key > *bound_) {
    Remember(key, true);
    return;
  }
  entries_.insert(key);
  if (entries_.size() > rows_max_) Trim();
}

void Window::Erase(ScheduleKey key) {
  if (bound_.has_value() && key > *bound_) {
    Remember(key, false);
    return;
  }
  entries_.erase(key);
}

void Window::Remember(ScheduleKey key, bool is_present) {
  if (load_ != Load::kAsked || key <= load_after_) return;
  if (changes_end_.has_value() && key > *changes_end_) return;
  changes_[key] = is_present;
  if (changes_.size() > kChangesPerRow * rows_max_) {
    changes_.erase(std::prev(changes_.end()));
    changes_end_ = std::prev(changes_.end())->first;
  }
}

void Window::Trim() {
  while (entries_.size() > rows_max_) entries_.erase(std::prev(entries_.end()));
  bound_ = *std::prev(entries_.end());
}

bool Window::WantsLoad() const {
  return bound_.has_value() && load_ == Load::kNone && entries_.size() < rows_low_;
}

void Window::BeginLoad(ScheduleKey* after, std::size_t* rows_max) {
  SLUICE_CHECK(WantsLoad(), "nothing to load");
  load_ = Load::kAsked;
  load_after_ = *bound_;
  changes_.clear();
  changes_end_.reset();
  *after = load_after_;
  *rows_max = rows_max_ - entries_.size();
}

void Window::Loaded(ScheduleKey after, std::span<const ScheduleKey> entries, bool is_complete,
                    const std::function<bool(ScheduleKey)>& is_absent) {
  if (load_ == Load::kNone) return;
  // Behind a bound that was lowered meanwhile the answer would leave a gap.
  const bool fits = load_ == Load::kAsked && after == load_after_ && bound_ == load_after_;
  load_ = Load::kNone;
  if (!fits) {
    changes_.clear();
    changes_end_.reset();
    return;
  }

  // What the answer, together with what we remember, is complete up to.
  std::optional<ScheduleKey> end;
  if (!is_complete) end = entries.empty() ? after : entries.back();
  if (changes_end_.has_value() && (!end.has_value() || *changes_end_ < *end)) end = changes_end_;
  const auto is_within = [&end](ScheduleKey key) { return !end.has_value() || key <= *end; };

  for (const ScheduleKey key : entries) {
    if (!is_within(key)) break;
    if (changes_.contains(key) || is_absent(key)) continue;
    entries_.insert(key);
  }
  for (const auto& [key, is_present] : changes_) {
    if (!is_within(key)) break;
    if (is_present && !is_absent(key)) entries_.insert(key);
  }
  bound_ = end;
  changes_.clear();
  changes_end_.reset();
  if (entries_.size() > rows_max_) Trim();
}

}  // namespace sluice::core
