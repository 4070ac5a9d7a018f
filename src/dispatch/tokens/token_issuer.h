// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes the tokens that attempts carry, as an issuer of its own (spec 4.8 to 4.10): JSON
// Web Tokens for any account that a task or queue names, signed with keys that handlers
// find by the issuer's discovery document. A token is used again until it is old.
//
// Threading: any thread; making a token takes about a millisecond, the first one longer.
// Failure: INTERNAL when no key can be made or written.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "base/status.h"
#include "base/time.h"
#include "dispatch/token_source.h"
#include "dispatch/tokens/key_ring.h"
#include "env/clock.h"

namespace sluice::dispatch {

inline constexpr Duration kTokenLifetime = absl::Hours(1);
/// A token with less than this before it is not used again.
inline constexpr Duration kTokenReserve = absl::Minutes(15);
inline constexpr std::string_view kDefaultScope = "https://www.googleapis.com/auth/cloud-platform";

inline constexpr std::string_view kDiscoveryPath = "/.well-known/openid-configuration";
inline constexpr std::string_view kKeysPath = "/jwks";

class TokenIssuer final : public TokenSource {
 public:
  struct Dependencies {
    std::unique_ptr<KeyRing> keys;
    env::Clock* clock = nullptr;  // real time, also when the server's is virtual
  };
  explicit TokenIssuer(Dependencies dependencies);

  /// The `iss` of every token from now on: a URL by which handlers reach this server.
  void SetIssuer(std::string issuer);

  StatusOr<std::string> Bearer(const core::Token& token, std::string_view url) override;

  /// JSON, as OpenID Connect Discovery and RFC 7517 have it.
  [[nodiscard]] std::string DiscoveryDocument();
  StatusOr<std::string> KeySet();

 private:
  // Kind, account, and audience or scope.
  using CacheKey = std::tuple<std::size_t, std::string, std::string>;
  struct Cached {
    std::string token;
    Time expires;
  };

  std::string Issuer();
  StatusOr<std::string> Make(const CacheKey& key, Time now);

  const std::unique_ptr<KeyRing> keys_;
  env::Clock* const clock_;
  std::mutex mutex_;
  std::string issuer_;                // guarded by mutex_
  std::map<CacheKey, Cached> cache_;  // guarded by mutex_; bounded
};

}  // namespace sluice::dispatch
