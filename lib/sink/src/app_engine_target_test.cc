// SPDX-License-Identifier: Apache-2.0
// Checklist 12.8 (104-122).
#include "sluice/sink/app_engine_target.h"

#include <gtest/gtest.h>

#include "testing/fails_with.h"
#include "testing/text_body.h"

namespace sluice::sink {
namespace {

using cloudtasks::AppEngineHttpRequest;
using cloudtasks::AppEngineRouting;
using cloudtasks::HttpMethod;
using testing::FailsWith;
using testing::TextBody;
using Builder = AppEngineTarget::Builder<std::string>;
using Routing = std::optional<AppEngineRouting>;

AppEngineRouting To(std::string_view service, std::string_view version = "",
                    std::string_view instance = "", std::string_view host = "") {
  AppEngineRouting routing;
  routing.set_service(std::string(service));
  routing.set_version(std::string(version));
  routing.set_instance(std::string(instance));
  routing.set_host(std::string(host));
  return routing;
}

class AppEngineTargetTest : public ::testing::Test {
 protected:
  std::shared_ptr<TextBody> body = std::make_shared<TextBody>();
  Builder builder = AppEngineTarget::To("/tasks/orders").WithBody<std::string>(body);

  static AppEngineHttpRequest Made(const Builder& builder, const std::string& record = "b") {
    cloudtasks::Task task;
    const auto schema = builder.Build();
    EXPECT_TRUE(schema.ok()) << schema.status();
    if (!schema.ok()) return {};
    const auto made = (*schema)->Serialize(record, task);
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(task.has_app_engine_http_request());
    EXPECT_EQ(task.name(), "");
    return task.app_engine_http_request();
  }
  static Status Refused(const Builder& builder, const std::string& record) {
    cloudtasks::Task task;
    const auto schema = builder.Build();
    EXPECT_TRUE(schema.ok()) << schema.status();
    return schema.ok() ? (*schema)->Serialize(record, task).status() : schema.status();
  }
};

TEST_F(AppEngineTargetTest, C104_DefaultIsAPostOfTheBody) {
  const AppEngineHttpRequest request = Made(builder);
  EXPECT_EQ(request.http_method(), HttpMethod::POST);
  EXPECT_EQ(request.relative_uri(), "/tasks/orders");
  EXPECT_EQ(request.body(), "b");
  EXPECT_EQ(request.headers_size(), 0);
  EXPECT_FALSE(request.has_app_engine_routing());
}

TEST_F(AppEngineTargetTest, C105_C121_MethodHeadersAndRoutingArePresent) {
  const auto all = AppEngineTarget::To("/t")
                       .WithMethod(HttpMethod::PUT)
                       .WithRouting(To("s", "v", "i"))
                       .WithBody<std::string>(body)
                       .WithHeaders([](const std::string& record) {
                         return Headers{{"A", record}};
                       });
  const AppEngineHttpRequest request = Made(all, "1");
  EXPECT_EQ(request.http_method(), HttpMethod::PUT);
  EXPECT_EQ(request.headers().at("A"), "1");
  EXPECT_EQ(request.app_engine_routing().service(), "s");
  EXPECT_EQ(request.app_engine_routing().version(), "v");
  EXPECT_EQ(request.app_engine_routing().instance(), "i");
}

TEST_F(AppEngineTargetTest, C106_C107_TheLastFormOfRoutingCounts) {
  const auto by_record = [](const std::string& record) { return Routing(To(record)); };
  builder.WithRouting(To("fixed"))
      .WithRelativeUri([](const std::string& record) { return "/of/" + record; })
      .WithRouting(by_record);
  EXPECT_EQ(Made(builder, "r").relative_uri(), "/of/r");
  EXPECT_EQ(Made(builder, "r").app_engine_routing().service(), "r");
  builder.WithRouting(To("fixed"));
  EXPECT_EQ(Made(builder, "r").app_engine_routing().service(), "fixed");
}

TEST_F(AppEngineTargetTest, C108_C118_RoutingWithoutASelectorIsNone) {
  EXPECT_FALSE(Made(builder.WithRouting(To("")), "r").has_app_engine_routing());
  builder.WithRouting([](const std::string& record) -> StatusOr<Routing> {
    if (record == "none") return Routing();
    return Routing(record == "empty" ? To("") : To("", "", record));
  });
  EXPECT_FALSE(Made(builder, "none").has_app_engine_routing());
  EXPECT_FALSE(Made(builder, "empty").has_app_engine_routing());
  EXPECT_EQ(Made(builder, "i1").app_engine_routing().instance(), "i1");
  EXPECT_EQ(Made(builder.WithRouting(To("", "v"))).app_engine_routing().version(), "v");
  EXPECT_EQ(Made(builder.WithRouting(To("s"))).app_engine_routing().service(), "s");
}

TEST_F(AppEngineTargetTest, C109_C110_C111_OnlyPostAndPutCallTheSerializer) {
  for (const auto method : {HttpMethod::GET, HttpMethod::PATCH, HttpMethod::DELETE}) {
    EXPECT_EQ(Made(builder.WithMethod(method), "null").body(), "");
  }
  EXPECT_EQ(body->calls, 0);
  for (const auto method : {HttpMethod::POST, HttpMethod::PUT}) {
    EXPECT_EQ(Made(builder.WithMethod(method), "b").body(), "b");
    EXPECT_TRUE(FailsWith(Refused(builder, "null"), "TextBody returned null"));
  }
}

TEST_F(AppEngineTargetTest, C112_C113_HeadersOfTheServiceCannotBeOverridden) {
  builder.WithHeaders([](const std::string& name) {
    return name.empty() ? Headers{} : Headers{{name, "1"}};
  });
  EXPECT_EQ(Made(builder, "").headers_size(), 0);
  for (const std::string name :
       {"Host", " content-LENGTH ", "X-Google-Trace", "x-appengine-task"}) {
    const Status status = Refused(builder, name);
    EXPECT_TRUE(FailsWith(status, "\"" + name + "\"") && FailsWith(status, "cannot be overridden"))
        << name;
  }
  EXPECT_EQ(Made(builder, "X-Request-Id").headers().size(), 1U);
  EXPECT_EQ(Made(builder, "Content-Type").headers().size(), 1U);
}

TEST_F(AppEngineTargetTest, C114_C115_RelativeUris) {
  const auto refusal = [this](std::string_view uri) {
    return AppEngineTarget::To(uri).WithBody<std::string>(body).Build().status();
  };
  std::string longest = "/";
  while (longest.size() + 2 <= 2 * 2083 - 1) longest += "\u00e9";  // two bytes, one character
  for (const std::string& uri : {std::string(), std::string("/"), longest,
                                 std::string("/tasks/%E2%9C%93?source=flink&empty=")}) {
    EXPECT_TRUE(refusal(uri).ok()) << uri;
  }
  EXPECT_TRUE(FailsWith(refusal(longest + "a"), "2083"));
  EXPECT_TRUE(FailsWith(refusal("/ta sks"), "whitespace"));
  for (const auto* uri : {"tasks/orders", "//worker.example/tasks", "/tasks#fragment", "/tasks%",
                          "/tasks%4", "/tasks%zz", "http://h/"}) {
    EXPECT_TRUE(FailsWith(refusal(uri), uri)) << uri;
  }
}

TEST_F(AppEngineTargetTest, C116_C117_WhatARecordGivesIsCheckedForEachRecord) {
  auto by_uri = builder;
  by_uri.WithRelativeUri([](const std::string& record) { return record; });
  EXPECT_TRUE(FailsWith(Refused(by_uri, "not/absolute-path"), "extracted relative URI"));
  auto by_routing = builder;
  by_routing.WithRouting(
      [](const std::string& record) { return Routing(To("s", "", "", record)); });
  EXPECT_EQ(Made(by_routing, "").app_engine_routing().service(), "s");
  const Status routing = Refused(by_routing, "host.example");
  EXPECT_TRUE(FailsWith(routing, "extracted routing") && FailsWith(routing, "output-only"));
  EXPECT_TRUE(FailsWith(builder.WithRouting(To("s", "", "", "h")).Build().status(), "output-only"));
}

// What the original refuses when it runs is not there to be called.
template <typename Stage>
concept CanBuild = requires(Stage stage) {
  stage.Build();
};
template <typename Stage>
concept TakesHeaders = requires(Stage stage, Builder::HeadersFunction function) {
  stage.WithHeaders(function);
};
template <typename Stage>
concept TakesABody = requires(Stage stage, std::shared_ptr<ByteSerializer<std::string>> body) {
  stage.template WithBody<std::string>(body);
};
static_assert(TakesABody<AppEngineTarget> && !TakesABody<Builder>);
static_assert(CanBuild<Builder> && !CanBuild<AppEngineTarget>);
static_assert(TakesHeaders<Builder> && !TakesHeaders<AppEngineTarget>);

TEST_F(AppEngineTargetTest, C119_BadSettingsAreRefused) {
  EXPECT_TRUE(FailsWith(AppEngineTarget::To("/").WithBody<std::string>(nullptr).Build().status(),
                        "body serializer must not be null"));
  EXPECT_TRUE(
      FailsWith(Builder(builder).WithMethod(HttpMethod::HTTP_METHOD_UNSPECIFIED).Build().status(),
                "concrete verb"));
  EXPECT_TRUE(
      FailsWith(Builder(builder).WithRouting(nullptr).Build().status(), "routing function"));
  EXPECT_TRUE(FailsWith(Builder(builder).WithHeaders(nullptr).Build().status(), "header function"));
  EXPECT_TRUE(FailsWith(Builder(builder).WithRelativeUri(nullptr).Build().status(),
                        "relative URI function"));
}

TEST_F(AppEngineTargetTest, C120_ABuiltSchemaKeepsWhatItWasBuiltWith) {
  EXPECT_EQ(&builder.WithMethod(HttpMethod::PUT), &builder);
  const auto before = *builder.Build();
  builder.WithMethod(HttpMethod::POST);
  cloudtasks::Task task;
  ASSERT_TRUE(before->Serialize("b", task).ok());
  EXPECT_EQ(task.app_engine_http_request().http_method(), HttpMethod::PUT);
  EXPECT_EQ(Made(builder).http_method(), HttpMethod::POST);
}

TEST_F(AppEngineTargetTest, C122_OpeningOpensTheBodySerializer) {
  const auto schema = *builder.WithRouting(To("s")).Build();
  ASSERT_TRUE(schema->Open({}).ok());
  EXPECT_EQ(body->opened, 1);
  const auto later = builder;  // a copy of a builder in use
  EXPECT_EQ(Made(later, "x").body(), "x");
  EXPECT_EQ(Made(later, "x").app_engine_routing().service(), "s");
}

}  // namespace
}  // namespace sluice::sink
