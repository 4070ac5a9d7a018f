// SPDX-License-Identifier: Apache-2.0
#pragma once

// A record as application/x-www-form-urlencoded: its top-level fields in their
// order, strings and arrays of strings; null fields are left out.
// Source: ../shared/spec/sink.md 8.5. Pure functions; any thread.

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace sluice::runner {

inline constexpr std::string_view kFormContentType = "application/x-www-form-urlencoded";

/// `text` is the record itself: a parsed object has lost the order of its fields.
/// Errors: INVALID_ARGUMENT naming the field of another type, or the null element.
StatusOr<std::string> FormBody(std::string_view text);

}  // namespace sluice::runner
