// SPDX-License-Identifier: Apache-2.0
#include "front/rest/rest_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "front/rest/tasks_rest.h"
#include "front/tasks/testing/service_fixture.h"
#include "nlohmann/json.hpp"

namespace sluice::front {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::string kQueuePath = "/v2/" + std::string(testing::kQueue);

class Answered final : public net::HttpResponder::Target {
 public:
  void Answer(net::HttpResponse response) override { answer = std::move(response); }
  std::optional<net::HttpResponse> answer;
};

class RestApiTest : public testing::ServiceV2Test {
 protected:
  RestApiTest() {
    AddTasks(&service_, &api_);
    EXPECT_EQ(Send("POST", "/v2/projects/p/locations/l/queues",
                   Json{{"name", std::string(testing::kQueue)}}.dump())
                  .status,
              200);
  }

  struct Reply {
    int status = 0;
    Json body;
  };

  Reply Raw(net::HttpRequest request) {
    auto target = std::make_shared<Answered>();
    api_.Handle(std::move(request), net::HttpResponder(target));
    if (!target->answer) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    return {target->answer->status, Json::parse(target->answer->body)};
  }

  Reply Send(std::string method, std::string path, std::string body = "", std::string query = "") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.query = std::move(query);
    if (!body.empty()) request.headers = {{"content-type", "application/json"}};
    request.body = std::move(body);
    return Raw(std::move(request));
  }

  static std::string NewTask(const std::string& extra = "") {
    return R"({"task": {"httpRequest": {"url": "http://h/", "body": "aGVsbG8="},)"
           R"("scheduleTime": "2033-05-18T03:41:40Z")" +
           extra + "}}";
  }

  env::InlineExecutor worker_;
  RestApi api_{&worker_};
};

TEST_F(RestApiTest, ATaskIsCreatedReadListedAndDeleted) {
  const Reply created =
      Send("POST", kQueuePath + "/tasks",
           NewTask(R"(, "name": ")" + std::string(testing::kQueue) + "/tasks/t\""));
  ASSERT_EQ(created.status, 200) << created.body;
  EXPECT_EQ(created.body["name"], std::string(testing::kQueue) + "/tasks/t");
  EXPECT_EQ(created.body["view"], "BASIC");
  EXPECT_EQ(created.body["httpRequest"]["httpMethod"], "POST");

  const Reply full = Send("GET", kQueuePath + "/tasks/t", "", "responseView=FULL");
  ASSERT_EQ(full.status, 200) << full.body;
  EXPECT_EQ(full.body["httpRequest"]["body"], "aGVsbG8=");

  const Reply list = Send("GET", kQueuePath + "/tasks", "", "pageSize=10&response_view=2");
  ASSERT_EQ(list.status, 200) << list.body;
  ASSERT_EQ(list.body["tasks"].size(), 1u);
  EXPECT_EQ(list.body["tasks"][0]["view"], "FULL");

  const Reply deleted = Send("DELETE", kQueuePath + "/tasks/t");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body, Json::object());
  EXPECT_EQ(Send("GET", kQueuePath + "/tasks/t").status, 404);
}

TEST_F(RestApiTest, AQueueIsUpdatedByMaskAndPausedWithoutABody) {
  const Reply updated =
      Send("PATCH", kQueuePath, R"({"rateLimits": {"maxDispatchesPerSecond": 7}})",
           "updateMask=rateLimits.maxDispatchesPerSecond");
  ASSERT_EQ(updated.status, 200) << updated.body;
  EXPECT_EQ(updated.body["rateLimits"]["maxDispatchesPerSecond"], 7);
  EXPECT_EQ(Send("POST", kQueuePath + ":pause").body["state"], "PAUSED");
  EXPECT_EQ(Send("POST", kQueuePath + ":resume", "{}").body["state"], "RUNNING");
}

// Google's client for Java has no PATCH: it sends POST and says what it means.
TEST_F(RestApiTest, AMethodThatAPostNamesInItsHeaderIsMeant) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = kQueuePath;
  request.query = "updateMask=retryConfig.maxAttempts";
  request.headers = {{"content-type", "application/json"}, {"X-HTTP-Method-Override", "PATCH"}};
  request.body = R"({"retryConfig": {"maxAttempts": 5}})";
  const Reply updated = Raw(request);
  ASSERT_EQ(updated.status, 200) << updated.body;
  EXPECT_EQ(updated.body["retryConfig"]["maxAttempts"], 5);

  request.headers[1].value = "BREW";
  EXPECT_EQ(Raw(request).status, 400);
  request.method = "GET";  // only a POST may mean something else
  request.headers[1].value = "DELETE";
  request.body.clear();
  request.query.clear();
  EXPECT_EQ(Raw(request).status, 200);
}

TEST_F(RestApiTest, EnumsAreNumbersForClientsThatAskForThem) {
  const Reply queue = Send("GET", kQueuePath, "", "%24alt=json%3Benum-encoding%3Dint");
  EXPECT_EQ(queue.body["state"], 1) << queue.body;
}

TEST_F(RestApiTest, EnumsAndBytesAreTakenInEitherForm) {  // [117]
  const std::string in = R"("httpRequest": {"url": "http://h/", "httpMethod": )";
  for (const std::string& target :
       {in + R"("PUT", "body": "+/8="})", in + R"(4, "body": "-_8"})"}) {
    const Reply task = Send("POST", kQueuePath + "/tasks",
                            R"({"responseView": "FULL", "task": {)" + target + "}}");
    ASSERT_EQ(task.status, 200) << task.body;
    EXPECT_EQ(task.body["httpRequest"]["httpMethod"], "PUT");
    EXPECT_EQ(task.body["httpRequest"]["body"], "+/8=");
  }
}

TEST_F(RestApiTest, ErrorsHaveGooglesBody) {
  const Reply missing = Send("GET", kQueuePath + "x");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body["error"]["code"], 404);
  EXPECT_EQ(missing.body["error"]["status"], "NOT_FOUND");
  EXPECT_THAT(missing.body["error"]["message"].get<std::string>(), HasSubstr("qx"));
  ASSERT_TRUE(missing.body["error"].contains("details")) << missing.body;
  EXPECT_THAT(missing.body["error"]["details"][0]["@type"].get<std::string>(),
              HasSubstr("google.rpc."));
}

TEST_F(RestApiTest, BadInputIsRefusedAndNamed) {
  const auto expect = [this](const Reply& reply, int status, const std::string& part) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_THAT(reply.body["error"]["message"].get<std::string>(), HasSubstr(part));
  };
  expect(Send("POST", kQueuePath + "/tasks", "{"), 400, "CreateTaskRequest");
  expect(Send("POST", kQueuePath + "/tasks", R"({"tusk": {}})"), 400, "tusk");
  expect(Send("POST", kQueuePath + "/tasks", "[1]"), 400, "CreateTaskRequest");
  expect(Send("POST", kQueuePath + "/tasks", NewTask(), "pageSize=1"), 400, "pageSize");
  expect(Send("GET", kQueuePath + "/tasks", "", "pageSize=x"), 400, "pageSize");
  expect(Send("GET", kQueuePath + "/tasks", "", "unheard=1"), 400, "unheard");
  expect(Send("GET", kQueuePath, "", "alt=proto"), 400, "alt");
  expect(Send("GET", kQueuePath, "", "fields=name"), 400, "fields");
  expect(Send("GET", kQueuePath, "{}"), 400, "takes no body");
  expect(Send("POST", kQueuePath + ":explode"), 404, ":explode");
  expect(Send("GET", "/v2/projects/p/locations/l/queues/%2e%2e%2fq"), 404, "no method");
  expect(Send("PUT", kQueuePath), 404, "PUT");
}

TEST_F(RestApiTest, OnlyJsonIsTakenAndNothingUnaskedFromAWebPage) {
  net::HttpRequest form;
  form.method = "POST";
  form.path = kQueuePath + "/tasks";
  form.body = NewTask();
  form.headers = {{"Content-Type", "text/plain"}};
  EXPECT_EQ(Raw(form).status, 400);
  form.headers = {{"Content-Type", "Application/JSON; charset=utf-8"}};
  EXPECT_EQ(Raw(form).status, 200);

  net::HttpRequest page;
  page.method = "POST";
  page.path = kQueuePath + ":pause";
  page.headers = {{"Origin", "http://evil.example"}};
  EXPECT_EQ(Raw(page).status, 403);
  EXPECT_EQ(Send("GET", kQueuePath).body["state"], "RUNNING");
}

TEST_F(RestApiTest, ACompressedBodyIsRefusedByName) {
  net::HttpRequest request;
  request.method = "POST";
  request.path = kQueuePath + "/tasks";
  request.headers = {{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}};
  request.body = "x";
  const Reply refused = Raw(request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body["error"]["message"].get<std::string>(), HasSubstr("gzip"));
}

TEST_F(RestApiTest, MethodsThatAreNotBuiltSaySo) {
  EXPECT_EQ(Send("POST", kQueuePath + "/tasks:batchCreate", "{}").status, 501);
  EXPECT_EQ(Send("POST", kQueuePath + "/tasks:batchDelete", "{}").status, 501);
}

TEST_F(RestApiTest, BothVersionsAndLocationsAreServed) {
  TasksServiceV2Beta3 beta{{&engine_, &clock_, nullptr, nullptr}};
  LocationsService locations{{&engine_, &clock_, nullptr, nullptr}, {"here"}};
  AddTasks(&beta, &api_);
  AddLocations(&locations, &api_);
  const Reply queue = Send("GET", "/v2beta3/" + std::string(testing::kQueue), "",
                           "readMask=name,tombstoneTtl,stats.tasksCount");
  EXPECT_EQ(queue.status, 200);
  EXPECT_EQ(queue.body["tombstoneTtl"], "3600s");
  EXPECT_FALSE(queue.body.contains("taskTtl"));
  for (const std::string version : {"/v2", "/v2beta3"}) {
    const Reply listed = Send("GET", version + "/projects/p/locations");
    ASSERT_EQ(listed.body["locations"].size(), 2u) << version;
    EXPECT_EQ(listed.body["locations"][0]["locationId"], "here");
    EXPECT_EQ(Send("GET", version + "/projects/p/locations/l").status, 200);
    EXPECT_EQ(Send("GET", version + "/projects/p/locations/nowhere").status, 404);
    const Reply cmek = Send("GET", version + "/projects/p/locations/l/cmekConfig");
    EXPECT_EQ(cmek.body, (Json{{"name", "projects/p/locations/l/cmekConfig"}}));
  }
  const Reply set = Send("POST", kQueuePath + ":setIamPolicy",
                         R"({"policy": {"bindings": [{"role": "r", "members": ["m"]}]}})");
  EXPECT_EQ(set.status, 200);
  EXPECT_EQ(Send("POST", kQueuePath + ":getIamPolicy", "{}").body, set.body);
}

}  // namespace
}  // namespace sluice::front
