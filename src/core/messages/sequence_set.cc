// SPDX-License-Identifier: Apache-2.0
#include "core/messages/sequence_set.h"

#include <algorithm>
#include <iterator>

#include "base/status.h"

namespace sluice::core {

SequenceRange SequenceSet::Add(SequenceRange range) {
  SLUICE_CHECK(range.first >= 1 && range.first <= range.last, "a range without messages");
  auto at = last_by_first_.upper_bound(range.first);
  if (at != last_by_first_.begin()) {
    const auto before = std::prev(at);
    if (before->second >= range.first - 1) at = before;
  }
  while (at != last_by_first_.end() && at->first - 1 <= range.last) {
    range.first = std::min(range.first, at->first);
    range.last = std::max(range.last, at->second);
    at = last_by_first_.erase(at);
  }
  last_by_first_.emplace(range.first, range.last);
  return range;
}

bool SequenceSet::Contains(MessageSequence sequence) const {
  return NextMissing(sequence) != sequence;
}

MessageSequence SequenceSet::NextMissing(MessageSequence from) const {
  const auto after = last_by_first_.upper_bound(from);
  if (after == last_by_first_.begin()) return from;
  return std::max(from, std::prev(after)->second + 1);
}

std::vector<SequenceRange> SequenceSet::Ranges() const {
  std::vector<SequenceRange> ranges;
  ranges.reserve(last_by_first_.size());
  for (const auto& [first, last] : last_by_first_) ranges.push_back({first, last});
  return ranges;
}

}  // namespace sluice::core
