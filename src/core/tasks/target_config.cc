// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/target_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/http_headers.h"

namespace sluice::core {

namespace {

constexpr std::int64_t kPortMax = 65535;
constexpr std::size_t kShownBytesMax = 100;
constexpr std::size_t kRoutingPartBytesMax = 256;
// As much as a URL may have; nothing real comes near.
constexpr std::size_t kTextBytesMax = 2083;

std::string_view Shown(std::string_view text) { return text.substr(0, kShownBytesMax); }

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

template <typename T>
void Apply(const std::optional<T>& change, T* value) {
  if (change.has_value()) *value = *change;
}

/// A part of the other kind of token makes way for what is set.
template <typename Kind>
void ApplyToken(const std::optional<std::string>& email, const std::optional<std::string>& detail,
                std::string Kind::*detail_member, Token* token) {
  const bool sets =
      (email.has_value() && !email->empty()) || (detail.has_value() && !detail->empty());
  if (!std::holds_alternative<Kind>(*token)) {
    if (!sets) return;
    *token = Kind{};
  }
  Kind& kind = std::get<Kind>(*token);
  Apply(email, &kind.service_account_email);
  Apply(detail, &(kind.*detail_member));
  if (kind == Kind{}) *token = std::monostate{};
}

Status CheckLength(std::string_view owner, std::string_view field, std::string_view text) {
  if (text.size() <= kTextBytesMax) return absl::OkStatus();
  return InvalidArgument("{}: http_target.{} has {} bytes; allowed are {}", owner, field,
                         text.size(), kTextBytesMax);
}

Status CheckTokenPart(std::string_view owner, std::string_view field, std::string_view text) {
  if (text.empty()) return InvalidArgument("{}: http_target.{} is required", owner, field);
  return CheckLength(owner, field, text);
}

/// Spec 1.6, VQ21 and VQ22: a queue's token is complete.
Status CheckToken(std::string_view owner, const Token& token) {
  if (const auto* oauth = std::get_if<OAuthToken>(&token)) {
    SLUICE_RETURN_IF_ERROR(
        CheckTokenPart(owner, "oauth_token.service_account_email", oauth->service_account_email));
    return CheckTokenPart(owner, "oauth_token.scope", oauth->scope);
  }
  if (const auto* oidc = std::get_if<OidcToken>(&token)) {
    SLUICE_RETURN_IF_ERROR(
        CheckTokenPart(owner, "oidc_token.service_account_email", oidc->service_account_email));
    return CheckTokenPart(owner, "oidc_token.audience", oidc->audience);
  }
  return absl::OkStatus();
}

Status CheckUri(std::string_view owner, const UriOverride& uri) {
  constexpr std::string_view kParent = "http_target.uri_override";
  if (uri.host.has_value()) {
    if (uri.host->empty()) {
      return InvalidArgument("{}: {}.host must not be empty; leave it out to keep the tasks' hosts",
                             owner, kParent);
    }
    const bool is_bracketed = uri.host->front() == '[' && uri.host->back() == ']';
    const bool is_clean = std::all_of(uri.host->begin(), uri.host->end(), [&](char c) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ':') return is_bracketed;
      return byte > 0x20 && byte != 0x7f && c != '/' && c != '?' && c != '#' && c != '@' &&
             c != '\\';
    });
    if (!is_clean) {
      return InvalidArgument(
          "{}: {}.host is \"{}\"; it must be a host name or address without "
          "scheme, user, port and path",
          owner, kParent, Shown(*uri.host));
    }
  }
  SLUICE_RETURN_IF_ERROR(CheckLength(owner, "uri_override.host", uri.host.value_or("")));
  SLUICE_RETURN_IF_ERROR(CheckLength(owner, "uri_override.path_override", uri.path.value_or("")));
  SLUICE_RETURN_IF_ERROR(CheckLength(owner, "uri_override.query_override", uri.query.value_or("")));
  if (uri.port.has_value() && (*uri.port < 0 || *uri.port > kPortMax)) {
    return InvalidArgument("{}: {}.port must be in [0, {}], got {}", owner, kParent, kPortMax,
                           *uri.port);
  }
  return absl::OkStatus();
}

Status CheckHeaders(std::string_view owner, const std::vector<Header>& headers) {
  constexpr std::string_view kField = "http_target.header_overrides";
  std::size_t bytes = 0;
  for (auto header = headers.begin(); header != headers.end(); ++header) {
    if (!IsValidHeaderName(header->name)) {
      return InvalidArgument("{}: {}: \"{}\" is not a header name that HTTP allows", owner, kField,
                             Shown(header->name));
    }
    if (!IsValidHeaderValue(header->value)) {
      return InvalidArgument("{}: {}: the value of \"{}\" holds a control character", owner, kField,
                             Shown(header->name));
    }
    const bool is_twin = std::any_of(headers.begin(), header, [&](const Header& earlier) {
      return IsSameHeader(earlier.name, header->name);
    });
    if (is_twin) {
      return InvalidArgument("{}: {}: \"{}\" is given twice", owner, kField, Shown(header->name));
    }
    bytes += header->name.size() + header->value.size();
    // Checked on the way, so that the search for twins stays short.
    if (bytes >= kHeaderOverrideBytesMax) {
      return InvalidArgument("{}: {}: names and values must stay below {} bytes", owner, kField,
                             kHeaderOverrideBytesMax);
    }
  }
  return absl::OkStatus();
}

void ApplyUri(const TargetPatch& patch, UriOverride* uri) {
  Apply(patch.scheme, &uri->scheme);
  Apply(patch.host, &uri->host);
  Apply(patch.port, &uri->port);
  Apply(patch.path, &uri->path);
  Apply(patch.query, &uri->query);
  Apply(patch.mode, &uri->mode);
}

}  // namespace

Status CheckRouting(std::string_view field, const AppEngineRouting& routing) {
  const auto check = [&](std::string_view part, std::string_view text) -> Status {
    const bool is_clean = std::all_of(text.begin(), text.end(),
                                      [](char c) { return IsLetterOrDigit(c) || c == '-'; });
    if (is_clean && text.size() <= kRoutingPartBytesMax) return absl::OkStatus();
    return InvalidArgument("{}.{} is \"{}\"; allowed are at most {} letters, digits and hyphens",
                           field, part, Shown(text), kRoutingPartBytesMax);
  };
  SLUICE_RETURN_IF_ERROR(check("service", routing.service));
  SLUICE_RETURN_IF_ERROR(check("version", routing.version));
  return check("instance", routing.instance);
}

StatusOr<QueueTargets> MergeTargets(std::string_view owner, const LocationName& location,
                                    const QueueTargets& base, const TargetPatch& patch) {
  QueueTargets::Settings settings = base.get();
  HttpTarget& http = settings.http;
  ApplyUri(patch, &http.uri);
  SLUICE_RETURN_IF_ERROR(CheckUri(owner, http.uri));
  Apply(patch.method, &http.method);
  Apply(patch.headers, &http.headers);
  SLUICE_RETURN_IF_ERROR(CheckHeaders(owner, http.headers));
  ApplyToken(patch.oauth_email, patch.oauth_scope, &OAuthToken::scope, &http.token);
  ApplyToken(patch.oidc_email, patch.oidc_audience, &OidcToken::audience, &http.token);
  SLUICE_RETURN_IF_ERROR(CheckToken(owner, http.token));

  AppEngineRouting& routing = settings.app_engine;
  Apply(patch.service, &routing.service);
  Apply(patch.version, &routing.version);
  Apply(patch.instance, &routing.instance);
  SLUICE_RETURN_IF_ERROR(
      CheckRouting(fmt::format("{}: app_engine_routing_override", owner), routing));
  routing.host = routing.names_nothing() ? std::string() : AppEngineHost(location, routing);
  return QueueTargets(std::move(settings));
}

}  // namespace sluice::core
