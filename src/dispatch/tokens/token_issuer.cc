// SPDX-License-Identifier: Apache-2.0
#include "dispatch/tokens/token_issuer.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace sluice::dispatch {
namespace {

using Json = nlohmann::json;

// Where the called URL is the audience, each URL has a token of its own.
constexpr std::size_t kCachedMax = 10'000;

constexpr std::size_t kOidc = 2;  // the alternative of core::Token

/// A number that stands for an account, the same in every run (FNV-1a).
std::string SubjectOf(std::string_view account) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : account) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211u;
  }
  return fmt::format("{:020}", hash);
}

/// Text of strangers may hold what is no UTF-8; a token must not fail by that.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TokenIssuer::TokenIssuer(Dependencies dependencies)
    : keys_(std::move(dependencies.keys)), clock_(dependencies.clock) {}

void TokenIssuer::SetIssuer(std::string issuer) {
  const std::lock_guard lock(mutex_);
  issuer_ = std::move(issuer);
  cache_.clear();
}

std::string TokenIssuer::Issuer() {
  const std::lock_guard lock(mutex_);
  return issuer_;
}

StatusOr<std::string> TokenIssuer::Bearer(const core::Token& token, std::string_view url) {
  CacheKey key;
  if (const auto* oauth = std::get_if<core::OAuthToken>(&token)) {
    key = {token.index(), oauth->service_account_email,
           oauth->scope.empty() ? std::string(kDefaultScope) : oauth->scope};
  } else {
    const auto& oidc = std::get<core::OidcToken>(token);
    key = {token.index(), oidc.service_account_email,
           oidc.audience.empty() ? std::string(url) : oidc.audience};
  }
  const Time now = clock_->Now();
  {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(key);
    if (found != cache_.end() && found->second.expires > now + kTokenReserve) {
      return found->second.token;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(std::string made, Make(key, now));
  const std::lock_guard lock(mutex_);
  if (cache_.size() >= kCachedMax) cache_.clear();
  cache_.insert_or_assign(std::move(key), Cached{made, now + kTokenLifetime});
  return made;
}

StatusOr<std::string> TokenIssuer::Make(const CacheKey& key, Time now) {
  const auto& [kind, account, detail] = key;
  SLUICE_ASSIGN_OR_RETURN(const SigningKey signer, keys_->KeyAt(now));
  const std::string issuer = Issuer();
  if (issuer.empty()) return FailedPrecondition("the issuer of tokens is not known yet");
  const std::int64_t issued = absl::ToUnixSeconds(now);
  const Json header = {
      {"alg", "RS256"}, {"kid", signer.public_key().id}, {"typ", kind == kOidc ? "JWT" : "at+jwt"}};
  const std::string subject = SubjectOf(account);
  Json claims = {{"iss", issuer},
                 {"sub", subject},
                 {"azp", subject},
                 {"email", account},
                 {"email_verified", true},
                 {"iat", issued},
                 {"exp", issued + absl::ToInt64Seconds(kTokenLifetime)}};
  claims[kind == kOidc ? "aud" : "scope"] = detail;
  std::string token = Base64Url(Dump(header)) + "." + Base64Url(Dump(claims));
  SLUICE_ASSIGN_OR_RETURN(const std::string signature, signer.Sign(token));
  return token + "." + signature;
}

std::string TokenIssuer::DiscoveryDocument() {
  const std::string issuer = Issuer();
  const Json document = {
      {"issuer", issuer},
      {"jwks_uri", issuer + std::string(kKeysPath)},
      {"id_token_signing_alg_values_supported", {"RS256"}},
      {"response_types_supported", {"id_token"}},
      {"subject_types_supported", {"public"}},
      {"claims_supported",
       {"aud", "azp", "email", "email_verified", "exp", "iat", "iss", "scope", "sub"}}};
  return Dump(document);
}

StatusOr<std::string> TokenIssuer::KeySet() {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<PublicKey> keys, keys_->Published(clock_->Now()));
  Json set = {{"keys", Json::array()}};
  for (const PublicKey& key : keys) {
    set["keys"].push_back({{"kty", "RSA"},
                           {"alg", "RS256"},
                           {"use", "sig"},
                           {"kid", key.id},
                           {"n", key.modulus},
                           {"e", key.exponent}});
  }
  return Dump(set);
}

}  // namespace sluice::dispatch
