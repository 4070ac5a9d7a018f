// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a redirecting answer is followed, and with what (spec 4.5: off by
// default, few hops, absolute http and https locations only).
//
// libcurl could follow by itself, but it turns a POST into a GET for most
// codes; a 200 to that GET would end a task whose handler never saw its body.
//
// Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tasks/model.h"

namespace sluice::dispatch {

struct Redirect {
  std::string url;  // ready for the wire
  core::HttpMethod method = core::HttpMethod::kPost;
  bool is_body_kept = true;
  /// The same scheme, host and port; otherwise Authorization and Cookie stay behind.
  bool is_same_origin = false;
};

/// Where an answer with `status` and `location` to a request for `url` leads.
/// 301, 302, 307 and 308 keep method and body, 303 asks with GET (HEAD stays
/// HEAD). Nothing for any other status and for a location that is not a
/// complete http or https URL.
[[nodiscard]] std::optional<Redirect> FollowRedirect(core::HttpMethod method, std::string_view url,
                                                     std::int32_t status,
                                                     std::string_view location);

}  // namespace sluice::dispatch
