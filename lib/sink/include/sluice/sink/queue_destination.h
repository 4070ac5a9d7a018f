// SPDX-License-Identifier: Apache-2.0
#pragma once

// A queue as the target of a record: project, location, queue. Settings of a queue
// cannot be expressed here, since the sink never creates or changes one.
//
// Threading: immutable; any thread. Copies are cheap enough to cache, and resolvers
// should cache them.
// Failure: `Of` refuses malformed components and names the component.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::sink {

class QueueDestination {
 public:
  /// Each component: not blank, no `/`, nothing at or below U+0020 at its ends.
  [[nodiscard]] static StatusOr<QueueDestination> Of(std::string_view project,
                                                     std::string_view location,
                                                     std::string_view queue);
  /// From `projects/P/locations/L/queues/Q`, under the same rules.
  [[nodiscard]] static StatusOr<QueueDestination> Parse(std::string_view path);

  [[nodiscard]] const std::string& project() const { return project_; }
  [[nodiscard]] const std::string& location() const { return location_; }
  [[nodiscard]] const std::string& queue() const { return queue_; }
  /// `projects/P/locations/L/queues/Q`.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// `P/L/Q`, for messages.
  [[nodiscard]] std::string ToString() const;
  [[nodiscard]] std::size_t hash() const { return hash_; }

  // The path is a one-to-one image of the components, none of which holds a slash.
  friend bool operator==(const QueueDestination& a, const QueueDestination& b) {
    return a.hash_ == b.hash_ && a.path_ == b.path_;
  }
  template <typename H>
  friend H AbslHashValue(H state, const QueueDestination& destination) {
    return H::combine(std::move(state), destination.hash_);
  }

 private:
  QueueDestination() = default;

  std::string project_;
  std::string location_;
  std::string queue_;
  std::string path_;
  std::size_t hash_ = 0;
};

}  // namespace sluice::sink
