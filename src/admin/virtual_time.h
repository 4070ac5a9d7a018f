// SPDX-License-Identifier: Apache-2.0
#pragma once

// The server's clock as admin calls: what time it is, and, under
// `--virtual-time`, moving it forward, so that a test sees a task of next week
// or the end of a back-off at once.
//
// Threading: moves are made by one thread at a time, that of the HTTP server.

#include <string_view>

#include "env/clock.h"
#include "env/virtual_clock.h"
#include "front/net/http.h"

namespace sluice::admin {

/// One step may not be longer; also keeps times within what the API can show.
inline constexpr Duration kAdvanceMax = absl::Hours(24 * 3650);

/// GET: {"now": ..., "virtual": true}.
[[nodiscard]] front::net::HttpResponse ShowTime(const env::Clock& clock, bool is_virtual);

/// POST {"by": "10s"} or {"to": "2030-01-31T10:00:00Z"}. Null `clock`: the time
/// is real and the call is refused with PERMISSION_DENIED.
[[nodiscard]] front::net::HttpResponse AdvanceTime(env::VirtualClock* clock, std::string_view body);

}  // namespace sluice::admin
