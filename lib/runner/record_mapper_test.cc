// SPDX-License-Identifier: Apache-2.0
#include "runner/record_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/form_body.h"

namespace sluice::runner {
namespace {

using testing::HasSubstr;
constexpr const char* kOrder =
    R"({"id":"o 1","n":7,"at":"2030-01-31T10:00:00.5Z","to":"https://shop/x","a":{"b":["c",2]},"z":null})";

ParsedRecord Parsed(const std::string& text) {
  return *ParseRecord({.text = text, .place = "f:1", .is_too_long = false});
}

StatusOr<RecordMapper::Task> Map(const MappingOptions& options, const std::string& text = kOrder) {
  SLUICE_ASSIGN_OR_RETURN(const RecordMapper mapper, RecordMapper::Make(options));
  return mapper.ToTask(Parsed(text));
}

MappingOptions To(const std::string& url) {
  MappingOptions options;
  options.url = url;
  return options;
}

TEST(RecordMapper, WithoutMoreTheBodyIsTheLine) {
  const auto task = Map(To("http://h/p"));
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->http_request().url(), "http://h/p");
  EXPECT_EQ(task->http_request().body(), kOrder);
  EXPECT_EQ(task->http_request().http_method(), google::cloud::tasks::v2::POST);
  EXPECT_TRUE(task->name().empty());
  EXPECT_FALSE(task->has_schedule_time());
}

TEST(RecordMapper, FieldsInAUrlAreEncodedButNotAtItsStart) {
  EXPECT_EQ(Map(To("http://h/${id}/${a.b.1}?n=${n}"))->http_request().url(),
            "http://h/o%201/2?n=7");
  EXPECT_EQ(Map(To("${to}/${id|raw}"), R"({"to":"https://s","id":"a"})")->http_request().url(),
            "https://s/a");
}

TEST(RecordMapper, HeadersScheduleBodyAndKeyAreTemplatesToo) {
  MappingOptions options = To("http://h/");
  options.headers = {{"X-Id", "id=${id}"}};
  options.schedule_time = "${at}";
  options.task_id = "order-${n}";
  options.body_format = "template";
  options.body_template = R"({"o":${id|json},"cost":"$$${n}"})";
  const auto mapper = RecordMapper::Make(options);
  ASSERT_TRUE(mapper.ok()) << mapper.status();
  const auto task = mapper->ToTask(Parsed(kOrder));
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->http_request().headers().at("X-Id"), "id=o 1");
  EXPECT_EQ(task->http_request().body(), R"({"o":"o 1","cost":"$7"})");
  EXPECT_EQ(task->schedule_time().seconds(), 1896084000);
  EXPECT_EQ(task->schedule_time().nanos(), 500'000'000);
  EXPECT_EQ(*mapper->ToKey(Parsed(kOrder)), "order-7");
}

TEST(RecordMapper, AMissingOrNullFieldIsNamedAndTheRecordIsNotShown) {
  const Status missing = Map(To("http://h/${no.such}")).status();
  EXPECT_EQ(Message(missing), "the record's field \"no.such\" is missing");
  EXPECT_EQ(Message(Map(To("http://h/${z}")).status()), "the record's field \"z\" is null");
}

TEST(RecordMapper, BadTemplatesAndUrlsAreRefusedBeforeAnyRecord) {
  for (const char* url : {"ftp://h/", "http://", "http:///p", "h/p", "http://h/a b", "http://h/$x",
                          "http://h/${a", "http://h/${}", "http://h/${a|upper}"}) {
    const Status status = RecordMapper::Make(To(url)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << url;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("http.url")) << url;
  }
}

TEST(RecordMapper, AUrlFromAFieldIsCheckedForEachRecord) {
  EXPECT_FALSE(Map(To("${to}"), R"({"to":"javascript:x"})").ok());
  EXPECT_TRUE(Map(To("${to}")).ok());
}

TEST(RecordMapper, MethodsWithoutABodySendNone) {
  MappingOptions options = To("http://h/");
  options.method = "GET";
  EXPECT_EQ(Map(options)->http_request().body(), "");
}

TEST(RecordMapper, ARawFieldIsTheBody) {
  MappingOptions options = To("http://h/");
  options.body_format = "raw";
  options.body_field = "id";
  EXPECT_EQ(Map(options)->http_request().body(), "o 1");
}

TEST(RecordMapper, TokensAreCarried) {
  MappingOptions options = To("http://h/");
  options.oidc_email = "a@b";
  options.oidc_audience = "aud";
  EXPECT_EQ(Map(options)->http_request().oidc_token().service_account_email(), "a@b");
  EXPECT_EQ(Map(options)->http_request().oidc_token().audience(), "aud");
}

TEST(RecordMapper, C242_ARelativeUriIsEmptyOrBeginsWithASlash) {
  MappingOptions options = To("${at|raw}");
  options.is_app_engine = true;
  EXPECT_EQ(Map(options, R"({"at":""})")->app_engine_http_request().relative_uri(), "");
  EXPECT_EQ(Map(options, R"({"at":"/a?b"})")->app_engine_http_request().relative_uri(), "/a?b");
  for (const auto* bad : {R"({"at":"tasks/1"})", R"({"at":"//h/1"})", R"({"at":"/a b"})"}) {
    EXPECT_FALSE(Map(options, bad).ok()) << bad;
  }
  options.url = "tasks/1";
  EXPECT_THAT(std::string(Message(RecordMapper::Make(options).status())),
              HasSubstr("app-engine.relative-uri: the relative URI \"tasks/1\""));
}

TEST(RecordMapper, AppEngineTargetsHaveRoutingOnlyWhenNamed) {
  MappingOptions options = To("/run/${id}");
  options.is_app_engine = true;
  EXPECT_FALSE(Map(options)->app_engine_http_request().has_app_engine_routing());
  options.service = "s";
  const auto task = Map(options);
  EXPECT_EQ(task->app_engine_http_request().relative_uri(), "/run/o%201");
  EXPECT_EQ(task->app_engine_http_request().app_engine_routing().service(), "s");
  options.headers = {{"X-Google-Foo", "1"}};
  EXPECT_FALSE(Map(options).ok());
}

TEST(RecordMapper, AHeaderWithALineBreakIsAFailureOfTheRecord) {
  MappingOptions options = To("http://h/");
  options.headers = {{"X-Id", "${id}"}};
  EXPECT_FALSE(Map(options, R"({"id":"a\r\nX-Evil: 1"})").ok());
}

TEST(RecordMapper, AnEmptyKeyIsRefused) {
  MappingOptions options = To("http://h/");
  options.task_id = "${id}";
  const auto mapper = RecordMapper::Make(options);
  EXPECT_THAT(std::string(Message(mapper->ToKey(Parsed(R"({"id":""})")).status())),
              HasSubstr("empty key"));
}

TEST(ParseRecord, OnlyOneJsonObjectIsARecord) {
  for (const char* text : {"nope", "[1]", "7", "{\"a\":1} x", "{"}) {
    EXPECT_FALSE(ParseRecord({.text = text, .place = "", .is_too_long = false}).ok()) << text;
  }
  EXPECT_FALSE(ParseRecord({.text = "{}", .place = "", .is_too_long = true}).ok());
}

TEST(FormBody, TheWorkedExamplesOfTheSpecification) {
  EXPECT_EQ(
      *FormBody(
          R"({"order_id":"42","note":"東京 + pickup","tags":["urgent","gift"],"categories":"books,sale"})"),
      "order_id=42&note=%E6%9D%B1%E4%BA%AC+%2B+pickup&tags=urgent&tags=gift&categories=books%"
      "2Csale");
  EXPECT_EQ(*FormBody(R"({"order_id":"43","note":"","tags":null,"categories":null})"),
            "order_id=43&note=");
  EXPECT_EQ(*FormBody(R"({"items[]":["book","pen"],"customer.name":"Alice"})"),
            "items%5B%5D=book&items%5B%5D=pen&customer.name=Alice");
  EXPECT_THAT(std::string(Message(FormBody(R"({"t":["a",null]})").status())),
              HasSubstr("element 1"));
  EXPECT_THAT(std::string(Message(FormBody(R"({"n":7})").status())), HasSubstr("\"n\""));
}

TEST(FormBody, ItsContentTypeIsAddedAndNoOtherIsTaken) {
  MappingOptions options = To("http://h/");
  options.body_format = "form-urlencoded";
  const std::string record = R"({"a":"b"})";
  EXPECT_EQ(Map(options, record)->http_request().headers().at("Content-Type"), kFormContentType);
  options.headers = {{"content-type", " Application/X-WWW-form-urlencoded"}};
  EXPECT_EQ(Map(options, record)->http_request().headers().at("content-type"), kFormContentType);
  options.headers = {{"Content-Type", "text/plain"}};
  EXPECT_FALSE(Map(options, record).ok());
}

}  // namespace
}  // namespace sluice::runner
