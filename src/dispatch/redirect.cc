// SPDX-License-Identifier: Apache-2.0
#include "dispatch/redirect.h"

#include <utility>

#include "base/http_headers.h"
#include "base/status.h"
#include "dispatch/url.h"

namespace sluice::dispatch {

std::optional<Redirect> FollowRedirect(core::HttpMethod method, std::string_view url,
                                       std::int32_t status, std::string_view location) {
  const bool is_kept = status == 301 || status == 302 || status == 307 || status == 308;
  if (!is_kept && status != 303) return std::nullopt;
  StatusOr<std::string> next = UrlForRequest(location);
  if (!next.ok()) return std::nullopt;
  Redirect redirect;
  // Host names have no case, so they compare like header names. A default port
  // that only one of the two spells out counts as another origin: the safe side.
  redirect.is_same_origin = IsSameHeader(Origin(url), Origin(*next));
  redirect.url = *std::move(next);
  redirect.is_body_kept = is_kept;
  redirect.method = is_kept || method == core::HttpMethod::kHead ? method : core::HttpMethod::kGet;
  return redirect;
}

}  // namespace sluice::dispatch
