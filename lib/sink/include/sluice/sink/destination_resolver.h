// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queue of a record. Must be deterministic and cheap: it runs for each record,
// before the serializer. Threading: the task thread.

#include "base/status.h"
#include "sluice/sink/queue_destination.h"
#include "sluice/sink/record_mapper.h"

namespace sluice::sink {

template <typename T>
class DestinationResolver {
 public:
  virtual ~DestinationResolver() = default;
  /// Valid until the next call. Null fails the job, also for a record that would be skipped.
  [[nodiscard]] virtual StatusOr<const QueueDestination*> Resolve(const T& record,
                                                                  const WriteContext& context) = 0;
  /// The one queue this always answers, if it is the library's fixed resolver.
  [[nodiscard]] virtual const QueueDestination* fixed_queue() const { return nullptr; }
};

template <typename T>
class FixedDestination final : public DestinationResolver<T> {
 public:
  explicit FixedDestination(QueueDestination queue) : queue_(std::move(queue)) {}
  [[nodiscard]] StatusOr<const QueueDestination*> Resolve(const T&, const WriteContext&) override {
    return &queue_;
  }
  [[nodiscard]] const QueueDestination* fixed_queue() const override { return &queue_; }

 private:
  QueueDestination queue_;
};

}  // namespace sluice::sink
