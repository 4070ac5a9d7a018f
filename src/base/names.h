// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resource names of the public API, parsed and checked in one place. A name is
// matched whole: a valid name inside a longer string is not a name
// (../shared/spec: cloud tasks 1.1). Ids keep the form and case they were given.
//
// Pure values; any thread.

#include <compare>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice {

inline constexpr std::size_t kQueueIdLengthMax = 100;
inline constexpr std::size_t kTaskIdLengthMax = 500;

/// `projects/{project}/locations/{location}`
struct LocationName {
  std::string project;
  std::string location;

  /// Errors: INVALID_ARGUMENT naming the value and the rule it breaks.
  static StatusOr<LocationName> Parse(std::string_view name);
  [[nodiscard]] std::string ToString() const;
  friend auto operator<=>(const LocationName&, const LocationName&) = default;
};

/// `projects/{project}/locations/{location}/queues/{queue}`
struct QueueName {
  LocationName location;
  std::string queue_id;

  /// Errors: INVALID_ARGUMENT naming the value and the rule it breaks.
  static StatusOr<QueueName> Parse(std::string_view name);
  [[nodiscard]] std::string ToString() const;
  friend auto operator<=>(const QueueName&, const QueueName&) = default;
};

/// `projects/{project}/locations/{location}/queues/{queue}/tasks/{task}`
struct TaskName {
  QueueName queue;
  std::string task_id;

  /// Errors: INVALID_ARGUMENT naming the value and the rule it breaks.
  static StatusOr<TaskName> Parse(std::string_view name);
  [[nodiscard]] std::string ToString() const;
  friend auto operator<=>(const TaskName&, const TaskName&) = default;
};

}  // namespace sluice
