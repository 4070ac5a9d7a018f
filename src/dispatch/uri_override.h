// SPDX-License-Identifier: Apache-2.0
#pragma once

// A queue's override applied to a task's URL, part by part (spec 2.8).
//
// Pure functions; any thread.

#include <string>
#include <string_view>

#include "base/status.h"
#include "core/tasks/target.h"

namespace sluice::dispatch {

/// `url` with the parts that `uri` sets. ALWAYS replaces; IF_NOT_EXISTS fills in what the
/// URL does not have, which can only be port, path and query. With another host a user and
/// password in the URL are dropped: they are not that host's.
/// `empty_clears`: an empty path or query in the override clears the task's; otherwise it
/// asks for nothing, since clients send empty messages without meaning to clear.
/// Errors: INVALID_ARGUMENT for a URL without scheme or host.
[[nodiscard]] StatusOr<std::string> OverrideUrl(std::string_view url, const core::UriOverride& uri,
                                                bool empty_clears);

}  // namespace sluice::dispatch
