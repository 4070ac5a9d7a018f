// SPDX-License-Identifier: Apache-2.0
#include "engine/target_records.h"

#include <string>
#include <utility>

namespace sluice::engine {
namespace {

constexpr std::uint8_t kMethodMax = 7;
constexpr std::uint8_t kSchemeMax = 2;
constexpr std::uint8_t kModeMax = 2;

// Which parts of a URI override are there.
constexpr std::uint8_t kHasScheme = 1;
constexpr std::uint8_t kHasHost = 2;
constexpr std::uint8_t kHasPort = 4;
constexpr std::uint8_t kHasPath = 8;
constexpr std::uint8_t kHasQuery = 16;
constexpr std::uint8_t kPartsMax = 31;

// The alternatives of core::Token, in its order.
constexpr std::uint8_t kNoToken = 0;
constexpr std::uint8_t kOAuth = 1;
constexpr std::uint8_t kOidc = 2;

void PutUri(ByteWriter& w, const core::UriOverride& uri) {
  w.U8(static_cast<std::uint8_t>((uri.scheme ? kHasScheme : 0) | (uri.host ? kHasHost : 0) |
                                 (uri.port ? kHasPort : 0) | (uri.path ? kHasPath : 0) |
                                 (uri.query ? kHasQuery : 0)));
  if (uri.scheme) w.U8(static_cast<std::uint8_t>(*uri.scheme));
  if (uri.host) w.Bytes(*uri.host);
  if (uri.port) w.SignedVarint(*uri.port);
  if (uri.path) w.Bytes(*uri.path);
  if (uri.query) w.Bytes(*uri.query);
  w.U8(static_cast<std::uint8_t>(uri.mode));
}

StatusOr<core::UriOverride> GetUri(ByteReader& r) {
  core::UriOverride uri;
  const std::uint8_t parts = r.U8();
  if (parts > kPartsMax) return DataLoss("uri override has parts {}", parts);
  if ((parts & kHasScheme) != 0) {
    const std::uint8_t scheme = r.U8();
    if (scheme > kSchemeMax) return DataLoss("uri override has scheme {}", scheme);
    uri.scheme = static_cast<core::UriScheme>(scheme);
  }
  if ((parts & kHasHost) != 0) uri.host = r.Bytes();
  if ((parts & kHasPort) != 0) uri.port = r.SignedVarint();
  if ((parts & kHasPath) != 0) uri.path = r.Bytes();
  if ((parts & kHasQuery) != 0) uri.query = r.Bytes();
  const std::uint8_t mode = r.U8();
  if (mode > kModeMax) return DataLoss("uri override has mode {}", mode);
  uri.mode = static_cast<core::UriEnforceMode>(mode);
  return uri;
}

}  // namespace

void PutToken(ByteWriter& w, const core::Token& token) {
  if (const auto* oauth = std::get_if<core::OAuthToken>(&token)) {
    w.U8(kOAuth);
    w.Bytes(oauth->service_account_email);
    w.Bytes(oauth->scope);
  } else if (const auto* oidc = std::get_if<core::OidcToken>(&token)) {
    w.U8(kOidc);
    w.Bytes(oidc->service_account_email);
    w.Bytes(oidc->audience);
  } else {
    w.U8(kNoToken);
  }
}

StatusOr<core::Token> GetToken(ByteReader& r) {
  const std::uint8_t kind = r.U8();
  if (kind == kNoToken) return core::Token();
  std::string email(r.Bytes());
  std::string detail(r.Bytes());
  if (kind == kOAuth) return core::Token(core::OAuthToken{std::move(email), std::move(detail)});
  if (kind == kOidc) return core::Token(core::OidcToken{std::move(email), std::move(detail)});
  return DataLoss("token has kind {}", kind);
}

void PutRouting(ByteWriter& w, const core::AppEngineRouting& routing) {
  w.Bytes(routing.service);
  w.Bytes(routing.version);
  w.Bytes(routing.instance);
  w.Bytes(routing.host);
}

core::AppEngineRouting GetRouting(ByteReader& r) {
  core::AppEngineRouting routing;
  routing.service = r.Bytes();
  routing.version = r.Bytes();
  routing.instance = r.Bytes();
  routing.host = r.Bytes();
  return routing;
}

void PutTargets(ByteWriter& w, const core::QueueTargets& targets) {
  w.U8(targets.empty() ? 0 : 1);
  if (targets.empty()) return;
  const core::HttpTarget& http = targets.http();
  PutUri(w, http.uri);
  w.U8(http.method ? static_cast<std::uint8_t>(*http.method) : 0);
  w.Varint(http.headers.size());
  for (const core::Header& header : http.headers) {
    w.Bytes(header.name);
    w.Bytes(header.value);
  }
  PutToken(w, http.token);
  PutRouting(w, targets.app_engine());
}

StatusOr<core::QueueTargets> GetTargets(ByteReader& r) {
  if (r.U8() == 0) return core::QueueTargets();
  core::QueueTargets::Settings settings;
  SLUICE_ASSIGN_OR_RETURN(settings.http.uri, GetUri(r));
  const std::uint8_t method = r.U8();
  if (method > kMethodMax) return DataLoss("http target has method {}", method);
  if (method != 0) settings.http.method = static_cast<core::HttpMethod>(method);
  const std::uint64_t header_count = r.Varint();
  for (std::uint64_t i = 0; i < header_count && r.ok(); ++i) {
    std::string name(r.Bytes());
    std::string value(r.Bytes());
    settings.http.headers.push_back({std::move(name), std::move(value)});
  }
  SLUICE_ASSIGN_OR_RETURN(settings.http.token, GetToken(r));
  settings.app_engine = GetRouting(r);
  return core::QueueTargets(std::move(settings));
}

}  // namespace sluice::engine
