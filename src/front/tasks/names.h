// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resource names as requests carry them, with the error details the real service
// gives: a Help link for names of the wrong form, as recorded in
// ../shared/spec: cloud tasks 1.6 and 1.7.
//
// Threading: pure functions.

#include <string_view>

#include "base/names.h"
#include "base/status.h"

namespace sluice::front {

inline constexpr std::string_view kQueueType = "cloudtasks.googleapis.com/Queue";
inline constexpr std::string_view kTaskType = "cloudtasks.googleapis.com/Task";
inline constexpr std::string_view kLocationType = "locations.googleapis.com/Location";

/// Errors, all of them: INVALID_ARGUMENT naming `field`, the value and the rule.
StatusOr<LocationName> ReadLocationName(std::string_view name, std::string_view field);
StatusOr<QueueName> ReadQueueName(std::string_view name, std::string_view field);
StatusOr<TaskName> ReadTaskName(std::string_view name, std::string_view field);

/// The location of `projects/{project}/locations/{location}/cmekConfig`.
StatusOr<LocationName> ReadCmekConfigName(std::string_view name, std::string_view field);

/// A failure of the engine, with the resource it is about where the code says so.
[[nodiscard]] Status AboutResource(Status status, std::string_view type, std::string_view name);

}  // namespace sluice::front
