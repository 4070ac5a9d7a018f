// SPDX-License-Identifier: Apache-2.0
// Checklist 12.7 (94-103) and the endpoint lines of 12.1 (1-10).
#include "sluice/sink/http_target.h"

#include <gtest/gtest.h>

#include <string>

#include "sluice/sink/endpoint.h"
#include "testing/fails_with.h"
#include "testing/text_body.h"

namespace sluice::sink {
namespace {

using cloudtasks::HttpMethod;
using cloudtasks::Task;

using testing::FailsWith;
using testing::TextBody;

class HttpTargetTest : public ::testing::Test {
 protected:
  std::shared_ptr<TextBody> body = std::make_shared<TextBody>();
  HttpTarget::Schema<std::string> schema =
      HttpTarget::To("https://worker.example/x").WithBody<std::string>(body);

  static Task Made(HttpTarget::Schema<std::string> schema, const std::string& record) {
    Task task;
    const auto made = schema.Serialize(record, task);
    EXPECT_TRUE(made.ok()) << made.status();
    return task;
  }
  static Status Refused(HttpTarget::Schema<std::string> schema, const std::string& record) {
    Task task;
    return schema.Serialize(record, task).status();
  }
};

TEST_F(HttpTargetTest, C94_DefaultIsAPostOfTheBody) {
  const Task task = Made(schema, "b");
  EXPECT_EQ(task.name(), "");
  EXPECT_EQ(task.http_request().http_method(), HttpMethod::POST);
  EXPECT_EQ(task.http_request().url(), "https://worker.example/x");
  EXPECT_EQ(task.http_request().body(), "b");
  EXPECT_EQ(task.http_request().headers_size(), 0);
  EXPECT_FALSE(task.http_request().has_oidc_token() || task.http_request().has_oauth_token());
}

TEST_F(HttpTargetTest, C95_C97_HeadersOfARecordAreSent) {
  const auto with = schema.WithMethod(HttpMethod::PUT).WithHeaders([](const std::string& record) {
    return record.empty() ? Headers{} : Headers{{"A", record}, {"b", "2"}};
  });
  EXPECT_EQ(Made(with, "1").http_request().headers().at("A"), "1");
  EXPECT_EQ(Made(with, "1").http_request().headers().at("b"), "2");
  EXPECT_EQ(Made(with, "").http_request().headers_size(), 0);
}

TEST_F(HttpTargetTest, C96_OnlyMethodsWithABodyCallTheSerializer) {
  for (const auto method : {HttpMethod::GET, HttpMethod::DELETE, HttpMethod::HEAD}) {
    EXPECT_EQ(Made(schema.WithMethod(method), "b").http_request().body(), "");
  }
  EXPECT_EQ(body->calls, 0);
  EXPECT_EQ(Made(schema.WithMethod(HttpMethod::PATCH), "b").http_request().body(), "b");
}

TEST_F(HttpTargetTest, C98_NullBodyIsAFailureNamingTheSerializer) {
  EXPECT_TRUE(FailsWith(Refused(schema, "null"), "TextBody returned null"));
}

TEST_F(HttpTargetTest, C99_UrlOfARecordIsChecked) {
  const auto with = schema.WithUrl([](const std::string& record) { return record; });
  EXPECT_EQ(Made(with, "http://a/1").http_request().url(), "http://a/1");
  EXPECT_TRUE(FailsWith(Refused(with, "/v1/x"), "absolute http"));
}

TEST_F(HttpTargetTest, C100_TokensAreSet) {
  const Task oidc = Made(schema.WithOidcToken("a@b"), "x");
  EXPECT_EQ(oidc.http_request().oidc_token().service_account_email(), "a@b");
  EXPECT_EQ(oidc.http_request().oidc_token().audience(), "");
  const Task oauth = Made(schema.WithOAuthToken("a@b", "scope"), "x");
  EXPECT_EQ(oauth.http_request().oauth_token().service_account_email(), "a@b");
  EXPECT_EQ(oauth.http_request().oauth_token().scope(), "scope");
}

TEST_F(HttpTargetTest, C101_TheTwoTokensExcludeEachOtherAndTheSameKindReplaces) {
  EXPECT_TRUE(FailsWith(schema.WithOidcToken("a@b").WithOAuthToken("a@b").status(), "oneof"));
  EXPECT_TRUE(FailsWith(schema.WithOAuthToken("a@b").WithOidcToken("a@b").status(), "oneof"));
  const Task task = Made(schema.WithOidcToken("a@b", "aud").WithOidcToken("c@d"), "x");
  EXPECT_EQ(task.http_request().oidc_token().service_account_email(), "c@d");
  EXPECT_EQ(task.http_request().oidc_token().audience(), "");
}

TEST_F(HttpTargetTest, C102_EachSettingGivesANewSchema) {
  const auto get = schema.WithMethod(HttpMethod::GET);
  EXPECT_EQ(Made(get, "x").http_request().http_method(), HttpMethod::GET);
  EXPECT_EQ(Made(schema, "x").http_request().http_method(), HttpMethod::POST);
}

TEST_F(HttpTargetTest, C103_BadSettingsAreRefused) {
  for (const std::string url : {"api.example.com", "  ", "", "HTTP://x"}) {
    EXPECT_FALSE(HttpTarget::To(url).WithBody<std::string>(body).status().ok()) << url;
  }
  EXPECT_FALSE(HttpTarget::To("http://x").WithBody<std::string>(nullptr).status().ok());
  EXPECT_FALSE(schema.WithMethod(HttpMethod::HTTP_METHOD_UNSPECIFIED).status().ok());
  EXPECT_FALSE(schema.WithOidcToken(" ").status().ok());
  EXPECT_FALSE(schema.WithOAuthToken("").status().ok());
  EXPECT_FALSE(schema.WithUrl(nullptr).status().ok());
}

TEST(Endpoint, C1_C2_C3_C4_PartsAreAsWritten) {
  EXPECT_EQ(Endpoint::Parse("s", "localhost:8086")->host(), "localhost");
  EXPECT_EQ(Endpoint::Parse("s", "127.0.0.1:1")->port(), 1);
  EXPECT_EQ(Endpoint::Parse("s", "host.example:65535")->port(), 65535);
  EXPECT_EQ(Endpoint::Parse("s", "[::1]:8086")->host(), "[::1]");
  EXPECT_EQ(Endpoint::Parse("s", "localhost:08086")->port(), 8086);
  EXPECT_EQ(Endpoint::Parse("s", "localhost:08086")->text(), "localhost:08086");
}

TEST(Endpoint, C5_C6_C7_C9_MalformedValuesGetOneMessage) {
  for (const std::string text :
       {"localhost8086", "localhost", "localhost:", ":8086", ":", "localhost:port", "8086", "",
        "  ", " localhost:8086", "localhost:8086 ", "localhost: 8086", "local host:8086", "h:0",
        "h:65536", "h:+8086", "h:-1", "h:８０８６", "h:99999999999"}) {
    EXPECT_EQ(Endpoint::Parse("emulator-endpoint", text).status(),
              InvalidArgument("emulator-endpoint must have the form host:port, not \"{}\"", text));
  }
}

TEST(Endpoint, C10_EqualByHostAndPort) {
  EXPECT_EQ(*Endpoint::Parse("s", "h:1"), *Endpoint::Parse("t", "h:01"));
  EXPECT_FALSE(*Endpoint::Parse("s", "h:1") == *Endpoint::Parse("s", "h:2"));
  EXPECT_FALSE(*Endpoint::Parse("s", "h:1") == *Endpoint::Parse("s", "i:1"));
}

}  // namespace
}  // namespace sluice::sink
