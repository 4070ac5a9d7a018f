// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/target_rules.h"

#include <algorithm>
#include <string>

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

bool TakesHttpBody(pb::HttpMethod method) {
  return TakesAppEngineBody(method) || method == pb::PATCH;
}

bool TakesAppEngineBody(pb::HttpMethod method) { return method == pb::POST || method == pb::PUT; }

bool IsRelativeUri(std::string_view uri) {
  if (uri.size() > kRelativeUriCharactersMax) return false;
  if (uri.empty()) return true;
  if (uri.front() != '/' || uri.starts_with("//")) return false;
  for (std::size_t at = 0; at < uri.size(); ++at) {
    const char c = uri[at];
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
    if (std::string_view("\"#<>\\^`{|}[]").find(c) != std::string_view::npos) return false;
    if (c == '%' && (at + 2 >= uri.size() || !IsHex(uri[at + 1]) || !IsHex(uri[at + 2]))) {
      return false;
    }
  }
  return true;
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
