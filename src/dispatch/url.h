// SPDX-License-Identifier: Apache-2.0
#pragma once

// A task's URL as it is called (spec 4.1). The stored URL is what the client
// gave; this makes of it what may stand in a request line.
//
// Pure functions; any thread.

#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::dispatch {

/// `url` with spaces, control bytes and bytes above 126 of path and query
/// percent-encoded, escapes that are there left alone, and the fragment cut off.
/// The host stays as it is.
/// Errors: INVALID_ARGUMENT for a scheme other than http and https, an empty
/// host, a space or control byte in the host, and a `%` without two hex digits
/// (the real service takes such a task and fails its attempts; so do we).
[[nodiscard]] StatusOr<std::string> UrlForRequest(std::string_view url);

/// `scheme://host[:port]` for messages: no user, path or query, which may hold
/// secrets. Empty when `url` has no such part.
[[nodiscard]] std::string Origin(std::string_view url);

}  // namespace sluice::dispatch
