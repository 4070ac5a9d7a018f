// SPDX-License-Identifier: Apache-2.0
#include "dispatch/uri_override.h"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/url.h"

namespace sluice::dispatch {
namespace {

constexpr std::string_view kSchemeEnd = "://";

std::string_view SchemeOf(core::UriScheme scheme) {
  return scheme == core::UriScheme::kHttp ? "http" : "https";
}

/// The position of the colon before the port in `host:port`, or npos.
std::size_t PortColon(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  const std::size_t bracket = host_and_port.rfind(']');
  const bool is_in_address = bracket != std::string_view::npos && colon < bracket;
  return is_in_address ? std::string_view::npos : colon;
}

}  // namespace

StatusOr<std::string> OverrideUrl(std::string_view url, const core::UriOverride& uri,
                                  bool empty_clears) {
  const std::string origin = Origin(url);
  if (origin.empty()) return InvalidArgument("the url's scheme is neither http nor https");
  const std::size_t scheme_end = url.find(kSchemeEnd);
  std::string_view scheme = url.substr(0, scheme_end);
  const std::string_view authority = url.substr(
      scheme_end + kSchemeEnd.size(),
      url.find_first_of("/?#", scheme_end + kSchemeEnd.size()) - scheme_end - kSchemeEnd.size());
  const std::size_t at = authority.rfind('@');
  std::string_view user = at == std::string_view::npos ? "" : authority.substr(0, at + 1);
  const std::string_view place =
      at == std::string_view::npos ? authority : authority.substr(at + 1);
  const std::size_t colon = PortColon(place);
  std::string_view host = place.substr(0, colon);
  std::string port(colon == std::string_view::npos ? "" : place.substr(colon + 1));

  const std::size_t rest_begin = scheme_end + kSchemeEnd.size() + authority.size();
  const std::string_view whole = url.substr(0, url.find('#'));
  const std::string_view rest = whole.substr(std::min(rest_begin, whole.size()));
  const std::size_t question = rest.find('?');
  std::string path(rest.substr(0, question));
  std::string_view query = question == std::string_view::npos ? "" : rest.substr(question + 1);
  bool has_query = question != std::string_view::npos;

  const bool always = uri.mode != core::UriEnforceMode::kIfNotExists;
  if (uri.scheme && always) scheme = SchemeOf(*uri.scheme);
  if (uri.host && always) {
    host = *uri.host;
    user = {};
  }
  if (uri.port && (always || port.empty())) {
    port = *uri.port == 0 ? std::string() : fmt::format("{}", *uri.port);
  }
  if (uri.path && (always || path.empty()) && (!uri.path->empty() || empty_clears)) {
    path = *uri.path;
    if (!path.empty() && path.front() != '/') path.insert(0, 1, '/');
  }
  if (uri.query && (always || !has_query) && (!uri.query->empty() || empty_clears)) {
    query = *uri.query;
    if (query.starts_with('?')) query.remove_prefix(1);
    has_query = !query.empty();
  }

  std::string result;
  result.append(scheme).append(kSchemeEnd).append(user).append(host);
  if (!port.empty()) result.append(":").append(port);
  result.append(path);
  if (has_query) result.append("?").append(query);
  return result;
}

}  // namespace sluice::dispatch
