// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which messages of a topic a subscription is done with, as ranges of sequences. Memory
// goes with the number of gaps, so a long backlog behind a cursor costs one range.
//
// Threading: one thread. Failure: none.

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"

namespace sluice::core {

/// Order of acceptance within one life of a topic; the first message has 1.
using MessageSequence = std::uint64_t;

/// Both ends belong to it.
struct SequenceRange {
  MessageSequence first = 0;
  MessageSequence last = 0;
  friend bool operator==(const SequenceRange&, const SequenceRange&) = default;
};

class SequenceSet {
 public:
  /// Adds the range, which may overlap others. Returns the range that it is now part of:
  /// every range that lay in that one is gone.
  SequenceRange Add(SequenceRange range);

  [[nodiscard]] bool Contains(MessageSequence sequence) const;
  /// The lowest sequence >= `from` that is not in the set.
  [[nodiscard]] MessageSequence NextMissing(MessageSequence from) const;
  /// In ascending order; no two touch.
  [[nodiscard]] std::vector<SequenceRange> Ranges() const;
  [[nodiscard]] std::size_t range_count() const { return last_by_first_.size(); }

 private:
  absl::btree_map<MessageSequence, MessageSequence> last_by_first_;
};

}  // namespace sluice::core
