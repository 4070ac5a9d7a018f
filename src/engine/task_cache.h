// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decoded tasks that were touched lately, bounded by bytes; the least recently
// used one goes first. Holds only what the ledger also says: the ledger updates
// it at every write.
//
// Threading: the lane's thread.

#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "core/tasks/model.h"

namespace sluice::engine {

class TaskCache {
 public:
  explicit TaskCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Null when absent; valid until the next call that is not const.
  const core::Task* Find(core::Incarnation queue, core::Sequence sequence);
  void Put(core::Incarnation queue, const core::Task& task);
  void Erase(core::Incarnation queue, core::Sequence sequence);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Key {
    core::Incarnation queue;
    core::Sequence sequence;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.queue, k.sequence);
    }
  };
  struct Row {
    Key key;
    core::Task task;
    std::size_t bytes;
  };

  void EvictTo(std::size_t bytes_max);

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Row> rows_;  // most recently used first
  absl::flat_hash_map<Key, std::list<Row>::iterator> index_;
};

}  // namespace sluice::engine
