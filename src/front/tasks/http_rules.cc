// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/http_rules.h"

#include <algorithm>
#include <utility>

#include "base/http_headers.h"
#include "front/errors.h"

namespace sluice::front {
namespace {

constexpr std::string_view kUserAgentHeader = "User-Agent";
constexpr std::string_view kContentTypeHeader = "Content-Type";
constexpr std::size_t kShownLengthMax = 100;

std::string_view Shown(std::string_view text) { return text.substr(0, kShownLengthMax); }

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool HasScheme(std::string_view url, std::string_view scheme) {
  return IsSameHeader(url.substr(0, scheme.size()), scheme);
}

// What the URL takes once spaces, control characters and bytes outside ASCII
// are written as %XX, which is how it is sent.
std::size_t EncodedLength(std::string_view url) {
  std::size_t length = url.size();
  for (const char c : url) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F) length += 2;
  }
  return length;
}

Status CheckHeader(std::string_view name, std::string_view value, std::string_view field) {
  if (!IsValidHeaderName(name)) {
    return AtField(field, InvalidArgument("{}: \"{}\" is not a header name that HTTP allows", field,
                                          Shown(name)));
  }
  if (!IsValidHeaderValue(value)) {
    return AtField(field, InvalidArgument("{}: the value of \"{}\" holds a control character",
                                          field, Shown(name)));
  }
  return absl::OkStatus();
}

// Takes out of `headers` what is the caller's. Errors: INVALID_ARGUMENT.
StatusOr<std::vector<core::Header>> TakeHeaders(
    google::protobuf::Map<std::string, std::string>& headers, std::string_view field) {
  std::vector<core::Header> stored;
  stored.reserve(headers.size() + 3);
  std::size_t bytes = 0;
  for (auto& [name, value] : headers) {
    SLUICE_RETURN_IF_ERROR(CheckHeader(name, value, field));
    bytes += name.size() + value.size();
    if (IsServiceHeader(name)) continue;
    stored.push_back({name, std::move(value)});
  }
  if (bytes >= kHeaderBytesMax) {
    return AtField(field, InvalidArgument("{}: names and values have {} bytes; they must stay "
                                          "below {}",
                                          field, bytes, kHeaderBytesMax));
  }
  return stored;
}

// Puts them in name order. Errors: INVALID_ARGUMENT for two of one name.
StatusOr<std::vector<core::Header>> Ordered(std::vector<core::Header> stored,
                                            std::string_view field) {
  std::sort(stored.begin(), stored.end(), [](const core::Header& a, const core::Header& b) {
    return std::lexicographical_compare(a.name.begin(), a.name.end(), b.name.begin(), b.name.end(),
                                        [](char x, char y) { return ToLower(x) < ToLower(y); });
  });
  const auto twin = std::adjacent_find(
      stored.begin(), stored.end(),
      [](const core::Header& a, const core::Header& b) { return IsSameHeader(a.name, b.name); });
  if (twin != stored.end()) {
    return AtField(field, InvalidArgument("{}: \"{}\" and \"{}\" are the same header", field,
                                          Shown(twin->name), Shown(std::next(twin)->name)));
  }
  return stored;
}

// The caller's User-Agent with the service's behind it, once.
std::string AppEngineUserAgent(const google::protobuf::Map<std::string, std::string>& headers) {
  for (const auto& [name, value] : headers) {
    if (!IsSameHeader(name, kUserAgentHeader) || value.empty()) continue;
    if (value.ends_with(kAppEngineUserAgent)) return value;
    return fmt::format("{} {}", value, kAppEngineUserAgent);
  }
  return std::string(kAppEngineUserAgent);
}

Status RefuseBody(std::size_t body_bytes, std::string_view methods, std::string_view field) {
  return AtField(field, InvalidArgument("{} has {} bytes, but only {} may have a body", field,
                                        body_bytes, methods));
}

}  // namespace

Status CheckUrl(std::string_view url, std::string_view field) {
  if (url.empty()) return AtField(field, InvalidArgument("{} is required", field));
  std::string_view rest = url;
  if (HasScheme(url, "http://")) {
    rest.remove_prefix(7);
  } else if (HasScheme(url, "https://")) {
    rest.remove_prefix(8);
  } else {
    return AtField(field, InvalidArgument("{}: \"{}\" must start with \"http://\" or \"https://\"",
                                          field, Shown(url)));
  }
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (host.empty() || host.front() == ':') {
    return AtField(field, InvalidArgument("{}: \"{}\" names no host", field, Shown(url)));
  }
  if (const std::size_t length = EncodedLength(url); length > kUrlLengthMax) {
    return AtField(field, InvalidArgument("{} has {} characters when encoded; allowed are {}",
                                          field, length, kUrlLengthMax));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<core::Header>> StoredHeaders(
    google::protobuf::Map<std::string, std::string>& headers, std::string_view field) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<core::Header> stored, TakeHeaders(headers, field));
  stored.push_back({std::string(kUserAgentHeader), std::string(kTaskUserAgent)});
  return Ordered(std::move(stored), field);
}

StatusOr<std::vector<core::Header>> StoredAppEngineHeaders(
    google::protobuf::Map<std::string, std::string>& headers, std::size_t body_bytes,
    std::string_view field) {
  std::string user_agent = AppEngineUserAgent(headers);
  SLUICE_ASSIGN_OR_RETURN(std::vector<core::Header> stored, TakeHeaders(headers, field));
  stored.push_back({std::string(kUserAgentHeader), std::move(user_agent)});
  if (body_bytes > 0) {
    stored.push_back({"Content-Length", fmt::format("{}", body_bytes)});
    const bool has_type = std::any_of(stored.begin(), stored.end(), [](const core::Header& header) {
      return IsSameHeader(header.name, kContentTypeHeader);
    });
    if (!has_type) stored.push_back({std::string(kContentTypeHeader), "application/octet-stream"});
  }
  return Ordered(std::move(stored), field);
}

Status CheckRelativeUri(std::string_view uri, std::string_view field) {
  if (uri.empty()) return absl::OkStatus();
  if (uri.front() != '/') {
    return AtField(field, InvalidArgument("{}: \"{}\" must start with \"/\"", field, Shown(uri)));
  }
  if (uri.find(' ') != std::string_view::npos) {
    return AtField(field, InvalidArgument("{}: \"{}\" holds a space", field, Shown(uri)));
  }
  if (const std::size_t length = EncodedLength(uri); length > kUrlLengthMax) {
    return AtField(field, InvalidArgument("{} has {} characters when encoded; allowed are {}",
                                          field, length, kUrlLengthMax));
  }
  return absl::OkStatus();
}

Status CheckBody(core::HttpMethod method, std::size_t body_bytes, std::string_view field) {
  if (body_bytes == 0 || method == core::HttpMethod::kPost || method == core::HttpMethod::kPut ||
      method == core::HttpMethod::kPatch) {
    return absl::OkStatus();
  }
  return RefuseBody(body_bytes, "POST, PUT and PATCH", field);
}

Status CheckAppEngineBody(core::HttpMethod method, std::size_t body_bytes, std::string_view field) {
  if (body_bytes == 0 || method == core::HttpMethod::kPost || method == core::HttpMethod::kPut) {
    return absl::OkStatus();
  }
  return RefuseBody(body_bytes, "POST and PUT", field);
}

}  // namespace sluice::front
