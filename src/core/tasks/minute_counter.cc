// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/minute_counter.h"

#include <algorithm>

namespace sluice::core {

namespace {

// Not negative, also for times before the epoch, so that it can pick a slot.
std::int64_t SecondOf(Time t) { return std::max<std::int64_t>(0, absl::ToUnixSeconds(t)); }

}  // namespace

void MinuteCounter::Add(Time now) {
  const std::int64_t second = SecondOf(now);
  if (second > latest_) {
    const std::int64_t first_stale = std::max(latest_ + 1, second - kSlots + 1);
    for (std::int64_t s = first_stale; s <= second; ++s) {
      slots_[static_cast<std::size_t>(s % kSlots)] = 0;
    }
    latest_ = second;
  }
  ++slots_[static_cast<std::size_t>(latest_ % kSlots)];
}

std::uint64_t MinuteCounter::Count(Time now) const {
  const std::int64_t oldest = std::max(SecondOf(now), latest_) - kSlots + 1;
  std::uint64_t count = 0;
  for (std::int64_t s = std::max(oldest, latest_ - kSlots + 1); s <= latest_; ++s) {
    if (s >= 0) count += slots_[static_cast<std::size_t>(s % kSlots)];
  }
  return count;
}

}  // namespace sluice::core
