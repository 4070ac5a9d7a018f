// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/target_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "core/tasks/target_config.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"

// What both versions of the API say about targets reaches the core and comes back.

namespace sluice::front {
namespace {

const LocationName kLocation{"p", "l"};

template <typename Message>
Message Of(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// The part of a queue that says something about App Engine.
std::string RoutingText(const tasks_v2::Queue*, const std::string& fields) {
  return fmt::format("app_engine_routing_override {{ {} }}", fields);
}
std::string RoutingText(const tasks_v2beta3::Queue*, const std::string& fields) {
  return fmt::format("app_engine_http_queue {{ app_engine_routing_override {{ {} }} }}", fields);
}

template <typename Api>
class TargetCodec : public ::testing::Test {
 protected:
  using Queue = typename Api::Queue;
  using Task = typename Api::Task;

  // What becomes of a new queue of these fields, or of `base` under a mask.
  StatusOr<core::QueueTargets> Decode(const std::string& text,
                                      const std::vector<std::string>& mask = {},
                                      const core::QueueTargets& base = {}) {
    google::protobuf::FieldMask paths;
    for (const std::string& path : mask) paths.add_paths(path);
    SLUICE_ASSIGN_OR_RETURN(const FieldSelection selection,
                            FieldSelection::Resolve(paths, *Queue::descriptor(), "update_mask"));
    SLUICE_ASSIGN_OR_RETURN(const auto patch, DecodeQueueTargets(Of<Queue>(text), selection));
    if (patch == nullptr) return base;
    return core::MergeTargets("queue q", kLocation, base, *patch);
  }
  std::string Encode(const core::QueueTargets& targets) {
    Queue queue;
    EncodeQueueTargets(targets, &queue);
    return queue.ShortDebugString();
  }
  void ExpectRoundTrip(const std::string& text) {
    const auto targets = Decode(text);
    ASSERT_TRUE(targets.ok()) << Message(targets.status());
    EXPECT_EQ(Encode(*targets), Of<Queue>(text).ShortDebugString());
  }
  StatusOr<core::HttpRequest> DecodeTask(const std::string& text) {
    Task task = Of<Task>(text);
    return DecodeTarget(task, kLocation);
  }
  void ExpectRefused(const std::string& text, std::string_view field) {
    const Status status = DecodeTask(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(Message(status).find(field), std::string_view::npos) << Message(status);
  }
};

using Versions = ::testing::Types<ApiV2, ApiV2Beta3>;
TYPED_TEST_SUITE(TargetCodec, Versions);

TYPED_TEST(TargetCodec, AQueuesTargetIsReadBackAsItWasGiven) {
  this->ExpectRoundTrip(R"pb(http_target {
                               uri_override {
                                 scheme: HTTP
                                 host: "b.example"
                                 port: 8080
                                 path_override { path: "/y" }
                                 query_override { query_params: "q=2" }
                                 uri_override_enforce_mode: IF_NOT_EXISTS
                               }
                               http_method: GET
                               header_overrides { header { key: "X-A" value: "1" } }
                               header_overrides { header { key: "B" value: "" } }
                               oidc_token { service_account_email: "a@b" audience: "aud" }
                             })pb");
  this->ExpectRoundTrip(
      "http_target { oauth_token { service_account_email: 'a@b' scope: 'https://s' } }");
  // Two ways to say "port", and the empty messages that the command line tool sends.
  this->ExpectRoundTrip("http_target { uri_override { port: 0 } }");
  this->ExpectRoundTrip(
      "http_target { uri_override { scheme: SCHEME_UNSPECIFIED host: 'h' "
      "path_override {} query_override {} } }");
}

TYPED_TEST(TargetCodec, AQueueWithoutTargetsShowsNone) {
  EXPECT_EQ(this->Encode(*this->Decode("")), "");
  EXPECT_EQ(this->Encode(*this->Decode("http_target { uri_override {} }")), "");
}

TYPED_TEST(TargetCodec, RoutingIsShownWithItsHostAndTheGivenHostIsIgnored) {
  const typename TypeParam::Queue* kind = nullptr;
  const auto targets = this->Decode(RoutingText(kind, "service: 's' version: 'v' host: 'x'"));
  EXPECT_EQ(this->Encode(*targets),
            Of<typename TypeParam::Queue>(
                RoutingText(kind, "service: 's' version: 'v' host: 'v.s.p.l.r.appspot.com'"))
                .ShortDebugString());
  EXPECT_TRUE(this->Decode(RoutingText(kind, "host: 'x'"))->empty());
}

TYPED_TEST(TargetCodec, AMaskTouchesOnlyWhatItNames) {
  const auto base = this->Decode(
      "http_target { uri_override { host: 'a' port: 1 } http_method: GET "
      "header_overrides { header { key: 'A' value: '1' } } }");
  const auto changed = this->Decode("http_target { uri_override { host: 'b' } }",
                                    {"http_target.uri_override.host"}, *base);
  EXPECT_EQ(changed->http().uri.host, "b");
  EXPECT_EQ(changed->http().uri.port, 1);
  EXPECT_EQ(changed->http().method, core::HttpMethod::kGet);
  const auto whole =
      this->Decode("http_target { uri_override { host: 'b' } }", {"httpTarget.uriOverride"}, *base);
  EXPECT_EQ(whole->http().uri.port, std::nullopt);
  EXPECT_EQ(whole->http().headers.size(), 1u);
  EXPECT_EQ(*this->Decode("", {"rate_limits"}, *base), *base);
  EXPECT_TRUE(this->Decode("", {"http_target"}, *base)->empty());
  EXPECT_TRUE(this->Decode("", {}, *base)->empty()) << "no mask: every field is replaced";
}

TYPED_TEST(TargetCodec, NamingBothPartsOfATokenWithoutAValueRemovesIt) {  // [37]
  const auto base = this->Decode(
      "http_target { uri_override { host: 'a' } "
      "oidc_token { service_account_email: 'a@b' audience: 'x' } }");
  const auto cleared = this->Decode(
      "", {"httpTarget.oidcToken.serviceAccountEmail", "httpTarget.oidcToken.audience"}, *base);
  EXPECT_EQ(cleared->http().token, core::Token());
  EXPECT_EQ(cleared->http().uri.host, "a");
}

TYPED_TEST(TargetCodec, HeaderOverridesAreReplacedAsAWhole) {  // [38]
  const auto base = this->Decode(
      "http_target { header_overrides { header { key: 'A' } } header_overrides { header { key: 'B' "
      "} } header_overrides { header { key: 'C' } } }");
  const auto changed = this->Decode(
      "http_target { header_overrides { header { key: 'D' value: '1' } } header_overrides { "
      "header { key: 'B' value: '2' } } }",
      {"httpTarget.headerOverrides"}, *base);
  EXPECT_EQ(changed->http().headers, (std::vector<core::Header>{{"D", "1"}, {"B", "2"}}));
}

TYPED_TEST(TargetCodec, AnEmptyRoutingUnderItsMaskRemovesTheOverride) {  // [39]
  const typename TypeParam::Queue queue;
  const typename TypeParam::Queue* kind = nullptr;
  const auto base = this->Decode(RoutingText(kind, "service: 's'"));
  ASSERT_FALSE(base->empty());
  EXPECT_TRUE(this->Decode(RoutingText(kind, ""), {std::string(AppEngineRoutingPath(queue))}, *base)
                  ->empty());
}

TYPED_TEST(TargetCodec, AnEmptyTokenAndNumbersThatNameNothingAreRefused) {
  for (const char* text : {"http_target { oidc_token {} }", "http_target { oauth_token {} }",
                           "http_target { oidc_token { audience: 'x' } }"}) {
    const Status status = this->Decode(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(Message(status).find("service_account_email"), std::string_view::npos);
  }
  typename TypeParam::Queue queue;
  auto* target = queue.mutable_http_target();
  target->set_http_method(static_cast<decltype(target->http_method())>(99));
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeQueueTargets(queue, {}).status()));
  target->clear_http_method();
  auto* uri = target->mutable_uri_override();
  uri->set_scheme(static_cast<decltype(uri->scheme())>(99));
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeQueueTargets(queue, {}).status()));
  uri->clear_scheme();
  uri->set_uri_override_enforce_mode(static_cast<decltype(uri->uri_override_enforce_mode())>(99));
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeQueueTargets(queue, {}).status()));
}

TYPED_TEST(TargetCodec, ATasksTokenIsKeptAndNeedsAnAccount) {  // [70]
  for (const char* token : {"oidc_token { service_account_email: 'nobody@x' audience: 'aud' }",
                            "oidc_token { service_account_email: 'nobody@x' }",
                            "oauth_token { service_account_email: 'nobody@x' scope: 's' }"}) {
    const auto request =
        this->DecodeTask(fmt::format("http_request {{ url: 'http://h/' {} }}", token));
    ASSERT_TRUE(request.ok()) << token;
    typename TypeParam::Task shown;
    EncodeTarget(*request, TaskView::kBasic, &shown);
    EXPECT_NE(shown.ShortDebugString().find("nobody@x"), std::string::npos) << "in either view";
  }
  this->ExpectRefused("http_request { url: 'http://h/' oidc_token { audience: 'x' } }",
                      "oidc_token.service_account_email");
  this->ExpectRefused("http_request { url: 'http://h/' oauth_token {} }",
                      "oauth_token.service_account_email");
}

TYPED_TEST(TargetCodec, AnAppEngineTaskIsReadBack) {
  const auto request = this->DecodeTask(R"pb(
    app_engine_http_request {
      http_method: PUT
      app_engine_routing { service: "s" version: "v" instance: "i" host: "ignored" }
      relative_uri: "/a?b=c"
      headers { key: "X-My" value: "1" }
      body: "text"
    })pb");
  ASSERT_TRUE(request.ok()) << Message(request.status());
  typename TypeParam::Task shown;
  EncodeTarget(*request, TaskView::kFull, &shown);
  const auto expected = Of<typename TypeParam::Task>(R"pb(
    app_engine_http_request {
      http_method: PUT
      app_engine_routing { service: "s" version: "v" instance: "i" host: "i.v.s.p.l.r.appspot.com" }
      relative_uri: "/a?b=c"
      headers { key: "X-My" value: "1" }
      headers { key: "Content-Length" value: "4" }
      headers { key: "Content-Type" value: "application/octet-stream" }
      headers { key: "User-Agent" value: "AppEngine-Google; (+http://code.google.com/appengine)" }
      body: "text"
    })pb");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(shown, expected))
      << shown.DebugString();
  typename TypeParam::Task basic;
  EncodeTarget(*request, TaskView::kBasic, &basic);
  EXPECT_EQ(basic.app_engine_http_request().body(), "");
}

TYPED_TEST(TargetCodec, AnAppEngineTaskOfNothingHasDefaults) {  // [66] [67]
  const auto request = this->DecodeTask("app_engine_http_request {}");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->url, "/");
  EXPECT_EQ(request->method, core::HttpMethod::kPost);
  EXPECT_EQ(request->app_engine->host, "p.l.r.appspot.com");
  ASSERT_EQ(request->headers.size(), 1u) << "no Content-Type or Content-Length without a body";
  EXPECT_EQ(request->headers[0].name, "User-Agent");
}

TYPED_TEST(TargetCodec, RelativeUrisAndBodiesOfAppEngineTasksHaveRules) {  // [59] [66]
  this->ExpectRefused("app_engine_http_request { relative_uri: 'foo' }", "relative_uri");
  this->ExpectRefused("app_engine_http_request { relative_uri: '/a b' }", "relative_uri");
  const std::string most = "/" + std::string(2082, 'x');
  EXPECT_TRUE(
      this->DecodeTask(fmt::format("app_engine_http_request {{ relative_uri: '{}' }}", most)).ok());
  this->ExpectRefused(fmt::format("app_engine_http_request {{ relative_uri: '{}x' }}", most),
                      "2084");
  for (const char* method : {"PATCH", "GET", "HEAD", "DELETE", "OPTIONS"}) {
    this->ExpectRefused(
        fmt::format("app_engine_http_request {{ http_method: {} body: 'x' }}", method), "body");
  }
  EXPECT_TRUE(this->DecodeTask("app_engine_http_request { http_method: PUT body: 'x' }").ok());
  this->ExpectRefused("app_engine_http_request { app_engine_routing { service: 'a.b' } }",
                      "app_engine_routing.service");
}

TYPED_TEST(TargetCodec, AppEngineHeadersAreCompletedOnce) {  // [65]
  const auto request = this->DecodeTask(
      "app_engine_http_request { body: 'x' headers { key: 'content-type' value: 'text/plain' } "
      "headers { key: 'user-agent' value: 'mine' } headers { key: 'X-AppEngine-Foo' value: '1' } "
      "headers { key: 'Content-Length' value: '77' } }");
  ASSERT_TRUE(request.ok()) << Message(request.status());
  EXPECT_EQ(request->headers,
            (std::vector<core::Header>{
                {"Content-Length", "1"},
                {"content-type", "text/plain"},
                {"User-Agent", "mine AppEngine-Google; (+http://code.google.com/appengine)"}}));
}

TYPED_TEST(TargetCodec, ATaskWithoutATargetIsRefused) {  // [57]
  this->ExpectRefused("", "http_request");
}

}  // namespace
}  // namespace sluice::front
