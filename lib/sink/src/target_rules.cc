// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/target_rules.h"

#include <algorithm>
#include <string>

#include "blank.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

bool IsConcreteMethod(pb::HttpMethod method) {
  return method != pb::HTTP_METHOD_UNSPECIFIED && pb::HttpMethod_IsValid(method);
}

Status CheckMethod(pb::HttpMethod method) {
  if (IsConcreteMethod(method)) return {};
  return InvalidArgument("the method of a task must be a concrete verb, not {}",
                         static_cast<int>(method));
}

bool TakesHttpBody(pb::HttpMethod method) {
  return TakesAppEngineBody(method) || method == pb::PATCH;
}

bool TakesAppEngineBody(pb::HttpMethod method) { return method == pb::POST || method == pb::PUT; }

Status CheckRelativeUri(std::string_view uri) {
  const auto characters = static_cast<std::size_t>(std::ranges::count_if(
      uri, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));  // UTF-8
  if (characters > kRelativeUriCharactersMax) {
    return InvalidArgument("the relative URI has {} characters, allowed are {}", characters,
                           kRelativeUriCharactersMax);
  }
  if (uri.empty()) return {};
  if (uri.front() != '/' || uri.starts_with("//")) {
    return InvalidArgument(
        "the relative URI \"{}\" must be empty or begin with one slash: it has no scheme and no "
        "host",
        uri);
  }
  if (std::ranges::any_of(uri, IsSpace)) {
    return InvalidArgument("the relative URI \"{}\" has whitespace or control characters", uri);
  }
  for (std::size_t at = 0; at < uri.size(); ++at) {
    const char c = uri[at];
    if (c == '#') return InvalidArgument("the relative URI \"{}\" has a fragment", uri);
    const bool is_broken =
        c == '%' && (at + 2 >= uri.size() || !IsHex(uri[at + 1]) || !IsHex(uri[at + 2]));
    if (is_broken || std::string_view("\x7f\"<>\\^`{|}[]").find(c) != std::string_view::npos) {
      return InvalidArgument("the relative URI \"{}\" is no URI at \"{}\"", uri, uri.substr(at));
    }
  }
  return {};
}

bool IsReservedAppEngineHeader(std::string_view name) {
  while (!name.empty() && static_cast<unsigned char>(name.front()) <= 0x20) name.remove_prefix(1);
  while (!name.empty() && static_cast<unsigned char>(name.back()) <= 0x20) name.remove_suffix(1);
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower == "host" || lower == "content-length" || lower.starts_with("x-google-") ||
         lower.starts_with("x-appengine-");
}

}  // namespace sluice::sink
