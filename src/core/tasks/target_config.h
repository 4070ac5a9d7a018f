// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a patch changes what a queue says about its tasks' targets, and what is
// refused of the result (spec 1.6 VQ19 to VQ23, 1.8, 2.8, 2.9).
//
// Pure functions; any thread. Failure: INVALID_ARGUMENT naming the owner, the field
// as the API spells it, and the value.

#include <string_view>

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/target.h"

namespace sluice::core {

/// Names and values of header overrides must stay below this together.
inline constexpr std::size_t kHeaderOverrideBytesMax = 80 * 1024;

/// `base` with `patch` applied, checked as a whole, the App Engine host filled in.
/// `owner`: how messages name the queue.
[[nodiscard]] StatusOr<QueueTargets> MergeTargets(std::string_view owner,
                                                  const LocationName& location,
                                                  const QueueTargets& base,
                                                  const TargetPatch& patch);

/// Errors: INVALID_ARGUMENT naming `field` for a part that cannot stand in a host name.
[[nodiscard]] Status CheckRouting(std::string_view field, const AppEngineRouting& routing);

}  // namespace sluice::core
