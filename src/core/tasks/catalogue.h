// SPDX-License-Identifier: Apache-2.0
#pragma once

// All queues by name and by incarnation, and the names of deleted queues that
// are still reserved. It writes nothing to the ledger; whoever changes it does.
//
// Threading: one thread. Ownership: owns the queues; pointers are good until
// Remove.

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/names.h"
#include "core/tasks/queue_runtime.h"

namespace sluice::core {

class Catalogue {
 public:
  /// Null when there is none.
  [[nodiscard]] QueueRuntime* Find(const QueueName& name) const;
  [[nodiscard]] QueueRuntime* Find(Incarnation incarnation) const;
  [[nodiscard]] std::size_t size() const { return by_name_.size(); }
  /// In name order; the machine's only way to visit every queue.
  [[nodiscard]] const absl::btree_map<QueueName, QueueRuntime*>& by_name() const {
    return by_name_;
  }
  [[nodiscard]] std::vector<Queue> List(const LocationName& parent, std::string_view after_id,
                                        std::size_t count_max) const;

  /// Requires: neither name nor incarnation is there.
  QueueRuntime& Add(std::unique_ptr<QueueRuntime> queue);
  void Remove(QueueRuntime& queue);

  [[nodiscard]] std::optional<Time> ReservedUntil(const QueueName& name) const;
  void Reserve(const QueueName& name, Time until);
  void Release(const QueueName& name);
  /// When the next reservation ends; InfiniteFuture: there is none.
  [[nodiscard]] Time NextRelease() const;
  /// A name whose reservation ended by `now`.
  [[nodiscard]] std::optional<QueueName> FirstReleased(Time now) const;

 private:
  struct NameHash {
    std::size_t operator()(const QueueName& name) const;
  };

  absl::flat_hash_map<Incarnation, std::unique_ptr<QueueRuntime>> queues_;
  // The hash answers lookups, the tree gives the order.
  absl::flat_hash_map<QueueName, QueueRuntime*, NameHash> index_;
  absl::btree_map<QueueName, QueueRuntime*> by_name_;

  absl::btree_map<QueueName, Time> reserved_;
  absl::btree_set<std::pair<Time, QueueName>> reserved_by_end_;
};

}  // namespace sluice::core
