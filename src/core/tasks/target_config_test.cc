// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/target_config.h"

#include <gtest/gtest.h>

#include <string>

// How settings of a queue's targets are merged and what is refused (spec 1.6, 2.8, 2.9).

namespace sluice::core {
namespace {

const LocationName kLocation{"p", "l"};

StatusOr<QueueTargets> Merge(const TargetPatch& patch, const QueueTargets& base = {}) {
  return MergeTargets("queue q", kLocation, base, patch);
}

void ExpectRefused(const TargetPatch& patch, std::string_view field) {
  const StatusOr<QueueTargets> merged = Merge(patch);
  ASSERT_TRUE(absl::IsInvalidArgument(merged.status())) << field;
  EXPECT_NE(Message(merged.status()).find(field), std::string_view::npos)
      << Message(merged.status());
  EXPECT_NE(Message(merged.status()).find("queue q"), std::string_view::npos);
}

TEST(TargetConfig, NothingSetIsNothingStored) {
  EXPECT_TRUE(Merge({})->empty());
  EXPECT_TRUE(
      Merge({.host = std::nullopt, .headers = {{}}, .oidc_email = "", .service = ""})->empty());
}

TEST(TargetConfig, APatchChangesOnlyWhatItNames) {
  const auto first = Merge({.host = "a", .port = 8080, .method = HttpMethod::kGet});
  const auto second = Merge({.host = "b", .port = std::optional<std::int64_t>()}, *first);
  EXPECT_EQ(second->http().uri.host, "b");
  EXPECT_EQ(second->http().uri.port, std::nullopt);
  EXPECT_EQ(second->http().method, HttpMethod::kGet);
  EXPECT_EQ(first->http().uri.host, "a") << "attempts under way keep what they started with";
}

// Spec 1.6, VQ19 and VQ20.
TEST(TargetConfig, AnEmptyHostAndANegativePortAreRefusedPortZeroIsNot) {
  ExpectRefused({.host = ""}, "uri_override.host");
  ExpectRefused({.port = -1}, "uri_override.port");
  ExpectRefused({.port = 65536}, "65536");
  EXPECT_EQ(Merge({.port = 0})->http().uri.port, 0);
  EXPECT_TRUE(Merge({.port = 65535}).ok());
}

TEST(TargetConfig, AHostIsAHostAndNothingElse) {
  for (const char* host : {"a/b", "a b", "u@h", "h:80", "h?x", "h#f", "h\\x", "a\nb"}) {
    ExpectRefused({.host = host}, "uri_override.host");
  }
  for (const char* host : {"a.example", "127.0.0.1", "[::1]"}) {
    EXPECT_TRUE(Merge({.host = host}).ok()) << host;
  }
}

// Spec 1.6, VQ21 and VQ22.
TEST(TargetConfig, AQueuesTokenIsComplete) {
  ExpectRefused({.oidc_audience = "aud"}, "oidc_token.service_account_email");
  ExpectRefused({.oidc_email = "a@b"}, "oidc_token.audience");
  ExpectRefused({.oauth_scope = "s"}, "oauth_token.service_account_email");
  ExpectRefused({.oauth_email = "a@b"}, "oauth_token.scope");
  EXPECT_EQ(Merge({.oidc_email = "a@b", .oidc_audience = "aud"})->http().token,
            Token(OidcToken{"a@b", "aud"}));
}

TEST(TargetConfig, TextsHaveALimit) {
  const std::string most(2083, 'x');
  EXPECT_TRUE(
      Merge({.host = most, .path = most, .query = most, .oidc_email = most, .oidc_audience = most})
          .ok());
  ExpectRefused({.host = most + "x"}, "uri_override.host");
  ExpectRefused({.path = most + "x"}, "uri_override.path_override");
  ExpectRefused({.query = most + "x"}, "uri_override.query_override");
  ExpectRefused({.oidc_email = "a", .oidc_audience = most + "x"}, "oidc_token.audience");
  ExpectRefused({.oauth_email = most + "x", .oauth_scope = "s"}, "oauth_token.service_account");
}

TEST(TargetConfig, ATokenOfOneKindReplacesTheOther) {
  const auto oidc = Merge({.oidc_email = "a@b", .oidc_audience = "aud"});
  const auto oauth = Merge({.oauth_email = "c@d", .oauth_scope = "s"}, *oidc);
  EXPECT_EQ(oauth->http().token, Token(OAuthToken{"c@d", "s"}));
  const auto back = Merge(
      {.oauth_email = "", .oauth_scope = "", .oidc_email = "a@b", .oidc_audience = "aud"}, *oauth);
  EXPECT_EQ(back->http().token, Token(OidcToken{"a@b", "aud"}));
}

// Spec 1.8: both leaves named and no value given.
TEST(TargetConfig, ClearingBothPartsOfATokenRemovesItAndKeepsTheRest) {
  const auto set = Merge({.host = "h", .oidc_email = "a@b", .oidc_audience = "aud"});
  const auto cleared = Merge({.oidc_email = "", .oidc_audience = ""}, *set);
  EXPECT_EQ(cleared->http().token, Token());
  EXPECT_EQ(cleared->http().uri.host, "h");
  const auto other = Merge({.oauth_email = "", .oauth_scope = ""}, *set);
  EXPECT_EQ(other->http().token, set->http().token) << "the other kind is not touched";
}

TEST(TargetConfig, HeaderOverridesAreReplacedAsAWhole) {
  const auto three = Merge({.headers = {{{"A", "1"}, {"B", "2"}, {"C", "3"}}}});
  const auto two = Merge({.headers = {{{"B", "4"}, {"D", "5"}}}}, *three);
  EXPECT_EQ(two->http().headers, (std::vector<Header>{{"B", "4"}, {"D", "5"}}));
}

// Spec 1.6, VQ23.
TEST(TargetConfig, HeaderOverridesMustBeHeadersAndStayBelowTheirLimit) {
  ExpectRefused({.headers = {{{"a b", "1"}}}}, "header_overrides");
  ExpectRefused({.headers = {{{"", "1"}}}}, "header_overrides");
  ExpectRefused({.headers = {{{"a", "1\r\nb: 2"}}}}, "header_overrides");
  ExpectRefused({.headers = {{{"a", "1"}, {"A", "2"}}}}, "given twice");
  ExpectRefused({.headers = {{{"a", std::string(kHeaderOverrideBytesMax - 1, 'x')}}}}, "81920");
  EXPECT_TRUE(Merge({.headers = {{{"a", std::string(kHeaderOverrideBytesMax - 2, 'x')}}}}).ok());
}

TEST(TargetConfig, RoutingGetsItsHostAndAnEmptyOneIsGone) {
  const auto set = Merge({.service = "s", .version = "v", .instance = "i"});
  EXPECT_EQ(set->app_engine(), (AppEngineRouting{"s", "v", "i", "i.v.s.p.l.r.appspot.com"}));
  const auto less = Merge({.version = "", .instance = ""}, *set);
  EXPECT_EQ(less->app_engine(), (AppEngineRouting{"s", "", "", "s.p.l.r.appspot.com"}));
  EXPECT_TRUE(Merge({.service = ""}, *less)->empty());
}

TEST(TargetConfig, ARoutingPartMustFitIntoAHostName) {
  ExpectRefused({.service = "a.b"}, "app_engine_routing_override.service");
  ExpectRefused({.version = "a/b"}, "app_engine_routing_override.version");
  ExpectRefused({.instance = std::string(257, 'i')}, "app_engine_routing_override.instance");
  EXPECT_TRUE(Merge({.instance = std::string(256, 'i')}).ok());
}

TEST(TargetConfig, AProjectOfADomainHasItsDomainBehindItsId) {
  EXPECT_EQ(AppEngineHost({"example.com:id", "l"}, {}), "id.example.com.l.r.appspot.com");
}

}  // namespace
}  // namespace sluice::core
