// SPDX-License-Identifier: Apache-2.0
#include "dispatch/tokens/token_issuer.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "env/sim/file_system.h"

// Tokens as who receives them sees them: checked by the published keys alone.

namespace sluice::dispatch {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPath = "keys.json";
constexpr std::string_view kUrl = "https://h/x?k=1";

class SettableClock final : public env::Clock {
 public:
  [[nodiscard]] Time Now() const override { return now; }
  [[nodiscard]] Duration RealTimeUntil(Time) const override { return absl::Hours(1); }
  Time now = absl::FromUnixSeconds(1'800'000'000);
};

std::string Decoded(std::string_view base64url) {
  std::string bytes;
  EXPECT_TRUE(
      absl::WebSafeBase64Unescape(absl::string_view(base64url.data(), base64url.size()), &bytes))
      << base64url;
  return bytes;
}

BIGNUM* Number(const std::string& base64url) {
  const std::string bytes = Decoded(base64url);
  return BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                   static_cast<int>(bytes.size()), nullptr);
}

// True when `jwk` verifies the signature of `text`; by another way than the signer's.
bool Verifies(const Json& jwk, const std::string& text, const std::string& signature) {
  BIGNUM* const n = Number(jwk["n"]);
  BIGNUM* const e = Number(jwk["e"]);
  OSSL_PARAM_BLD* const build = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n);
  OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e);
  OSSL_PARAM* const params = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY_CTX* const key_context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_fromdata_init(key_context);
  EVP_PKEY_fromdata(key_context, &key, EVP_PKEY_PUBLIC_KEY, params);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestVerifyInit_ex(context, nullptr, "SHA256", nullptr, nullptr, key, nullptr);
  const bool is_valid =
      EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()) == 1;
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(key_context);
  OSSL_PARAM_free(params);
  OSSL_PARAM_BLD_free(build);
  BN_free(n);
  BN_free(e);
  return is_valid;
}

class TokenIssuerTest : public ::testing::Test {
 protected:
  TokenIssuerTest() { Start(); }

  // As the server does at each start.
  void Start() {
    auto keys = KeyRing::Open({.files = &files_, .path = std::string(kPath)});
    ASSERT_TRUE(keys.ok()) << Message(keys.status());
    issuer_ = std::make_unique<TokenIssuer>(
        TokenIssuer::Dependencies{.keys = *std::move(keys), .clock = &clock_});
    issuer_->SetIssuer("http://localhost:8085");
  }

  std::string Bearer(const core::Token& token, std::string_view url = kUrl) {
    const auto bearer = issuer_->Bearer(token, url);
    EXPECT_TRUE(bearer.ok()) << Message(bearer.status());
    return bearer.value_or("");
  }
  Json Keys() { return Json::parse(issuer_->KeySet().value())["keys"]; }
  std::vector<std::string> KeyIds() {
    std::vector<std::string> ids;
    for (const Json& key : Keys()) ids.push_back(key["kid"]);
    return ids;
  }
  static Json HeaderOf(const std::string& token) {
    return Json::parse(Decoded(token.substr(0, token.find('.'))));
  }
  // The claims, after the signature was checked by the published keys.
  Json ClaimsOf(const std::string& token) {
    const std::vector<std::string> parts = absl::StrSplit(token, '.');
    EXPECT_EQ(parts.size(), 3u) << token;
    const std::string id = HeaderOf(token)["kid"];
    bool is_valid = false;
    for (const Json& key : Keys()) {
      if (key["kid"] == id) {
        is_valid = Verifies(key, parts[0] + "." + parts[1], Decoded(parts[2]));
      }
    }
    EXPECT_TRUE(is_valid) << "no published key verifies " << token;
    return Json::parse(Decoded(parts[1]));
  }

  env::SimFileSystem files_{/*seed=*/1};
  SettableClock clock_;
  std::unique_ptr<TokenIssuer> issuer_;
};

const core::Token kOidcToken = core::OidcToken{"me@p.iam", ""};

TEST_F(TokenIssuerTest, AnIdentityTokenSaysWhoForWhomAndHowLong) {  // [113]
  const std::string token = Bearer(kOidcToken);
  EXPECT_EQ(HeaderOf(token)["alg"], "RS256");
  const Json claims = ClaimsOf(token);
  EXPECT_EQ(claims["iss"], "http://localhost:8085");
  EXPECT_EQ(claims["aud"], kUrl) << "the called URL, with its query";
  EXPECT_EQ(claims["email"], "me@p.iam");
  EXPECT_EQ(claims["email_verified"], true);
  EXPECT_EQ(claims["iat"], 1'800'000'000);
  EXPECT_EQ(claims["exp"], 1'800'003'600);
  const std::string subject = claims["sub"];
  EXPECT_EQ(subject.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(ClaimsOf(Bearer(core::OidcToken{"me@p.iam", "aud"}))["aud"], "aud");
  EXPECT_NE(ClaimsOf(Bearer(core::OidcToken{"you@p.iam", ""}))["sub"], subject);
}

TEST_F(TokenIssuerTest, TheDiscoveryDocumentLeadsToTheKeys) {  // [113]
  const Json document = Json::parse(issuer_->DiscoveryDocument());
  EXPECT_EQ(document["issuer"], "http://localhost:8085");
  EXPECT_EQ(document["jwks_uri"], "http://localhost:8085/jwks");
  EXPECT_EQ(document["id_token_signing_alg_values_supported"], Json::array({"RS256"}));
  const Json key = Keys().at(0);
  EXPECT_EQ(key["kty"], "RSA");
  EXPECT_EQ(key["alg"], "RS256");
  EXPECT_EQ(key["use"], "sig");
  EXPECT_EQ(key["e"], "AQAB");
  EXPECT_EQ(Decoded(key["n"].get<std::string>()).size(), 256u);
}

TEST_F(TokenIssuerTest, AnAccessTokenHasItsScopeOrTheDefaultOne) {  // [115]
  EXPECT_EQ(ClaimsOf(Bearer(core::OAuthToken{"me@p.iam", "a b"}))["scope"], "a b");
  const Json claims = ClaimsOf(Bearer(core::OAuthToken{"me@p.iam", ""}));
  EXPECT_EQ(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
  EXPECT_FALSE(claims.contains("aud"));
}

TEST_F(TokenIssuerTest, ATokenIsUsedAgainUntilItIsOld) {
  const std::string token = Bearer(kOidcToken);
  clock_.now += absl::Minutes(44);
  EXPECT_EQ(Bearer(kOidcToken), token);
  EXPECT_NE(Bearer(kOidcToken, "https://h/other"), token) << "another audience";
  EXPECT_NE(Bearer(core::OAuthToken{"me@p.iam", std::string(kUrl)}), token) << "another kind";
  clock_.now += absl::Minutes(1);
  const std::string next = Bearer(kOidcToken);
  EXPECT_NE(next, token);
  EXPECT_EQ(ClaimsOf(next)["iat"], 1'800'000'000 + 45 * 60);
}

TEST_F(TokenIssuerTest, MoreAudiencesThanTheCacheHoldsGetTheirTokens) {
  for (int i = 0; i < 3; ++i) Bearer(kOidcToken, "https://h/" + std::to_string(i));
  EXPECT_EQ(ClaimsOf(Bearer(kOidcToken, "https://h/0"))["aud"], "https://h/0");
}

TEST_F(TokenIssuerTest, KeysSurviveARestart) {  // [115]
  const std::string token = Bearer(kOidcToken);
  const std::vector<std::string> ids = KeyIds();
  Start();
  EXPECT_EQ(KeyIds(), ids);
  ClaimsOf(token);
}

TEST_F(TokenIssuerTest, AKeyIsOnDiskBeforeItSigns) {
  Bearer(kOidcToken);
  const auto text = env::ReadFile(files_, std::string(kPath), 1 << 20);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("BEGIN PRIVATE KEY"), std::string::npos);
}

TEST_F(TokenIssuerTest, ANewKeyIsPublishedBeforeItSignsAndTheOldOneAfterwards) {
  const std::string first = HeaderOf(Bearer(kOidcToken))["kid"];
  clock_.now += absl::Hours(24 * 30) - kPublishAhead;
  const std::vector<std::string> ids = KeyIds();
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[1], first);
  EXPECT_EQ(HeaderOf(Bearer(kOidcToken))["kid"], first) << "nobody may have seen the new one";
  const std::string last_of_first = Bearer(kOidcToken);
  clock_.now += kPublishAhead;
  EXPECT_EQ(HeaderOf(Bearer(kOidcToken))["kid"], ids[0]);
  ClaimsOf(last_of_first);
  clock_.now += kKeptAfter;
  EXPECT_EQ(KeyIds(), std::vector<std::string>{ids[0]});
}

TEST_F(TokenIssuerTest, AfterALongStopTheNewKeySignsAtOnce) {
  Bearer(kOidcToken);
  clock_.now += absl::Hours(24 * 400);
  ClaimsOf(Bearer(kOidcToken));
  EXPECT_EQ(KeyIds().size(), 1u);
}

TEST_F(TokenIssuerTest, ADamagedKeyFileIsNamed) {
  for (const char* text :
       {"", "{", "[]", R"({"version":1})", R"({"version":2,"keys":[]})", R"({"keys":[]})",
        R"({"version":"1","keys":[]})", R"({"version":1,"keys":[{}]})",
        R"({"version":1,"keys":[{"created":1,"private_key":"x"}]})",
        R"({"version":1,"keys":[{"created":"1","private_key":"x"}]})"}) {
    ASSERT_TRUE(env::WriteFileAtomically(files_, std::string(kPath), text).ok());
    const auto keys = KeyRing::Open({.files = &files_, .path = std::string(kPath)});
    EXPECT_TRUE(absl::IsDataLoss(keys.status())) << text;
    EXPECT_NE(Message(keys.status()).find(kPath), std::string_view::npos);
  }
}

TEST_F(TokenIssuerTest, WithoutAFileKeysLiveInMemory) {
  auto keys = KeyRing::Open({});
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE((*keys)->KeyAt(clock_.now).ok());
  EXPECT_EQ((*keys)->Published(clock_.now)->size(), 1u);
}

TEST_F(TokenIssuerTest, AnAccountThatIsNoTextDoesNotBreakTheToken) {
  EXPECT_FALSE(ClaimsOf(Bearer(core::OidcToken{"\xff\xfe", "aud"}))["email"].empty());
}

}  // namespace
}  // namespace sluice::dispatch
