// SPDX-License-Identifier: Apache-2.0
#pragma once

// Page tokens: where a listing goes on, in a form clients pass back unread. A
// token carries all its state, so it works after a restart and on any node; it
// belongs to one listing (method, parent, filter) and lives for two hours
// (../shared/spec: cloud tasks 1.9).
//
// The checksum finds garbled tokens; it keeps no secret, and a forged token
// shows nothing that its caller could not list anyway.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace sluice::front {

/// How many items a page holds: zero asks for `limit`, more than that is cut to it
/// (spec 1.9). Errors: INVALID_ARGUMENT for a negative number.
StatusOr<std::size_t> PageSize(std::int32_t asked, std::int32_t limit);

inline constexpr Duration kPageTokenLife = absl::Hours(2);

/// The listing a token belongs to.
struct Listing {
  std::string_view method;
  std::string_view parent;
  std::string_view filter;
};

/// A token that goes on after `cursor`, which only the listing understands.
[[nodiscard]] std::string MakePageToken(const Listing& listing, std::string_view cursor, Time now);

/// The cursor of a token; empty for the empty token, which is the first page.
/// Errors: INVALID_ARGUMENT for a token that is garbled, too old, or another listing's.
StatusOr<std::string> ReadPageToken(const Listing& listing, std::string_view token, Time now);

}  // namespace sluice::front
