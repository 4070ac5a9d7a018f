// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tasks that used up their attempts: kept, found, sent again, dropped. Bounded in each
// queue by number, bytes and age (TaskLimits); what is over a bound goes, oldest first.
// Heads are in memory, letters in the ledger.
//
// Threading: one thread. Failure: ColdRead(), with no trace left.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "core/tasks/machine.h"

namespace sluice::core {

struct MachineState;
struct QueueRuntime;

/// The heads of all queues.
class DeadLetterIndex {
 public:
  using Key = std::pair<Time, Sequence>;  // in the order of their end
  struct Letters {
    absl::btree_map<Sequence, DeadLetterHead> heads;
    absl::btree_set<Key> by_end;
    std::uint64_t bytes = 0;
  };

  void Insert(Incarnation queue, Sequence sequence, const DeadLetterHead& head);
  void Erase(Incarnation queue, Sequence sequence);
  void EraseQueue(Incarnation queue);

  /// Null when the queue has none.
  [[nodiscard]] const Letters* Find(Incarnation queue) const;
  /// The end of the oldest letter of any queue, with its queue.
  [[nodiscard]] std::optional<std::pair<Time, Incarnation>> Oldest() const;

  DeadLetterTotals totals;

 private:
  void Note(Incarnation queue, const Letters& letters, std::optional<Time> oldest_before);

  absl::flat_hash_map<Incarnation, Letters> queues_;
  absl::btree_set<std::pair<Time, Incarnation>> oldest_;  // one entry a queue that has letters
};

/// Ends a live task whose attempts are used up and keeps it as far as the bounds allow,
/// with what is known of its attempts now; `task` is as the ledger has it.
void GiveUp(MachineState& state, QueueRuntime& queue, const Task& task,
            const TaskProgress& progress, Time now);
/// Drops letters whose time is over, some at a time.
void ExpireDeadLetters(MachineState& state, Time now);
/// When ExpireDeadLetters has something to do.
[[nodiscard]] Time DeadLettersDue(const MachineState& state);

StatusOr<DeadLetterStep> ListDeadLetters(const MachineState& state, const QueueName& queue,
                                         const DeadLetterSelection& selection);
StatusOr<DeadLetterStep> RedriveDeadLetters(MachineState& state, const QueueName& queue,
                                            const DeadLetterSelection& selection, Time now);
StatusOr<DeadLetterStep> DeleteDeadLetters(MachineState& state, const QueueName& queue,
                                           const DeadLetterSelection& selection);

}  // namespace sluice::core
