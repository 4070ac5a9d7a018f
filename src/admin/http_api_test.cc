// SPDX-License-Identifier: Apache-2.0
//
// Proves the routes, refusals and answers of the admin API through the handler
// object, with a fake engine and work done inline: no socket, no thread.
#include "admin/http_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "admin/fake_engine.h"
#include "admin/faults.h"
#include "admin/json_answer.h"
#include "env/virtual_clock.h"

namespace sluice::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr std::string_view kTask = "projects/p/locations/l/queues/q/tasks/t";
constexpr std::int64_t kNowSeconds = 1896084000;  // 2030-01-31T10:00:00Z

/// Keeps the answer of one request.
class Answered final : public front::net::HttpResponder::Target {
 public:
  void Answer(front::net::HttpResponse response) override { response_ = std::move(response); }
  std::optional<front::net::HttpResponse> response_;
};

struct Answer {
  int status = 0;
  std::string body;
  [[nodiscard]] Json json() const { return Json::parse(body, nullptr, false); }
  [[nodiscard]] std::string message() const {
    const Json parsed = json();
    return parsed.is_object() && parsed.contains("error") ? parsed["error"].value("message", "")
                                                          : "";
  }
};

class HttpApiTest : public ::testing::Test {
 protected:
  HttpApiTest() { Build(&clock_, &faults_); }

  void Build(env::VirtualClock* virtual_clock, FaultInjector* faults) {
    HttpApi::Dependencies parts;
    parts.engine = &engine_;
    parts.clock = &clock_;
    parts.virtual_clock = virtual_clock;
    parts.faults = faults;
    parts.figures = [] { return MetricsInput{}; };
    parts.worker = &inline_;
    parts.backup_worker = &inline_;
    api_ = std::make_unique<HttpApi>(std::move(parts));
    api_->SetPhase(HttpApi::Phase::kReady);
  }

  front::net::HttpRequest Request(std::string method, std::string path, std::string body = "") {
    front::net::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.peer = "127.0.0.1:40000";
    if (request.method == "POST") {
      request.headers.push_back({"content-type", "application/json; charset=utf-8"});
    }
    return request;
  }

  Answer Call(front::net::HttpRequest request) {
    const auto target = std::make_shared<Answered>();
    api_->Handle(std::move(request), front::net::HttpResponder(target));
    if (!target->response_.has_value()) return {};
    return {target->response_->status, target->response_->body};
  }
  Answer Get(std::string path) { return Call(Request("GET", std::move(path))); }
  Answer Post(std::string path, std::string body) {
    return Call(Request("POST", std::move(path), std::move(body)));
  }

  env::VirtualClock clock_{absl::FromUnixSeconds(kNowSeconds)};
  env::InlineExecutor inline_;
  FaultInjector faults_{1};
  FakeEngine engine_;
  std::unique_ptr<HttpApi> api_;
};

TEST_F(HttpApiTest, HealthFollowsThePhaseAndOtherRoutesWait) {
  EXPECT_EQ(Get("/healthz").status, 200);
  for (const auto phase : {HttpApi::Phase::kStarting, HttpApi::Phase::kStopping}) {
    api_->SetPhase(phase);
    EXPECT_EQ(Get("/healthz").status, 503);
    EXPECT_EQ(Get("/metrics").status, 503);
    EXPECT_EQ(Get("/admin/v1/time").status, 503);
  }
  EXPECT_THAT(engine_.TakeSubmitted(), IsEmpty());
}

TEST_F(HttpApiTest, UnknownPathsAreNotFoundInGooglesShape) {
  const Answer answer = Get("/v2/nothing");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.json()["error"]["code"], 404);
  EXPECT_EQ(answer.json()["error"]["status"], "NOT_FOUND");
  EXPECT_THAT(answer.message(), HasSubstr("GET /v2/nothing"));
}

TEST_F(HttpApiTest, AWrongMethodSaysWhichAreTaken) {
  for (const auto& [method, path] :
       {std::pair("POST", "/healthz"), std::pair("POST", "/metrics"),
        std::pair("PUT", "/admin/v1/faults"), std::pair("GET", "/admin/v1/faults/1"),
        std::pair("GET", "/admin/v1/time:advance"), std::pair("POST", "/admin/v1/time"),
        std::pair("GET", "/admin/v1/backup"), std::pair("POST", "/admin/v1/explain/x")}) {
    EXPECT_EQ(Call(Request(method, path)).status, 405) << method << " " << path;
  }
}

TEST_F(HttpApiTest, MetricsShowQueuesAndEngine) {
  engine::NamedStats stats;
  stats.name = QueueName::Parse("projects/p/locations/l/queues/q").value();
  stats.stats.task_count = 3;
  engine_.stats.push_back(stats);
  engine_.metrics.frames = 17;
  const Answer answer = Get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body,
              HasSubstr("sluice_queue_tasks{queue=\"projects/p/locations/l/queues/q\"} 3"));
  EXPECT_THAT(answer.body, HasSubstr("sluice_frames_total 17"));
}

TEST_F(HttpApiTest, ExplainGivesCountersReasonsAndSentences) {
  core::Explanation explanation;
  explanation.task.progress.schedule_time = clock_.Now() + absl::Seconds(70);
  explanation.task.progress.dispatch_count = 2;
  explanation.waits.push_back(
      {core::Wait::Reason::kBackoff, explanation.task.progress.schedule_time});
  explanation.waits.push_back({core::Wait::Reason::kQueuePaused, std::nullopt});
  engine_.explanations[TaskName::Parse(kTask).value()] = explanation;
  const Answer answer = Get("/admin/v1/explain/" + std::string(kTask));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json json = answer.json();
  EXPECT_EQ(json["name"], kTask);
  EXPECT_EQ(json["dispatch_count"], 2);
  EXPECT_EQ(json["waits"][0]["reason"], "BACKOFF");
  EXPECT_EQ(json["waits"][0]["until"], "2030-01-31T10:01:10Z");
  EXPECT_EQ(json["waits"][0]["text"],
            "its last attempt failed; the next one is due at 2030-01-31T10:01:10Z (in 1m10s)");
  EXPECT_EQ(json["waits"][1]["reason"], "QUEUE_PAUSED");
  EXPECT_FALSE(json["waits"][1].contains("until"));
  EXPECT_EQ(json["summary"], json["waits"][0]["text"]);
}

TEST_F(HttpApiTest, ExplainDecodesNamesAndRefusesWhatIsNone) {
  engine_.explanations[TaskName::Parse("projects/a:b/locations/l/queues/q/tasks/t").value()] = {};
  EXPECT_EQ(Get("/admin/v1/explain/projects/a%3Ab/locations/l/queues/q/tasks/t").status, 200);
  EXPECT_EQ(Get("/admin/v1/explain/" + std::string(kTask)).status, 404);
  EXPECT_EQ(Get("/admin/v1/explain/projects/p").status, 400);
  EXPECT_EQ(Get("/admin/v1/explain/projects/%4").status, 400);
  EXPECT_EQ(Get("/admin/v1/explain/projects/%zz").status, 400);
}

TEST_F(HttpApiTest, FaultRulesAreAddedListedAndRemoved) {
  const std::string rule = R"({"method":"CreateTask","when":"before_commit","action":"fail"})";
  EXPECT_EQ(Post("/admin/v1/faults", rule).json()["id"], 1);
  EXPECT_EQ(Post("/admin/v1/faults", rule).json()["id"], 2);
  EXPECT_EQ(Get("/admin/v1/faults").json()["faults"].size(), 2u);
  EXPECT_EQ(Get("/admin/v1/faults").json()["faults"][0]["hits"], 0);
  EXPECT_EQ(Call(Request("DELETE", "/admin/v1/faults/1")).status, 200);
  EXPECT_EQ(Call(Request("DELETE", "/admin/v1/faults/1")).status, 404);
  EXPECT_EQ(Call(Request("DELETE", "/admin/v1/faults/x")).status, 400);
  EXPECT_EQ(Call(Request("DELETE", "/admin/v1/faults")).json()["removed"], 1);
  EXPECT_EQ(Post("/admin/v1/faults", R"({"method":"CreateTask"})").status, 400);
  EXPECT_EQ(Post("/admin/v1/faults", "{").status, 400);
}

TEST_F(HttpApiTest, FaultsAndVirtualTimeAreForbiddenUnlessEnabled) {
  Build(nullptr, nullptr);
  const Answer faults = Get("/admin/v1/faults");
  EXPECT_EQ(faults.status, 403);
  EXPECT_THAT(faults.message(), HasSubstr("--enable-fault-injection"));
  EXPECT_EQ(Call(Request("DELETE", "/admin/v1/faults/1")).status, 403);
  const Answer time = Post("/admin/v1/time:advance", R"({"by":"10s"})");
  EXPECT_EQ(time.status, 403);
  EXPECT_THAT(time.message(), HasSubstr("--virtual-time"));
  EXPECT_EQ(Get("/admin/v1/time").json()["virtual"], false);
}

TEST_F(HttpApiTest, VirtualTimeMovesBySpanAndToInstantAndOnlyForward) {
  EXPECT_EQ(Get("/admin/v1/time").json()["now"], "2030-01-31T10:00:00Z");
  EXPECT_EQ(Post("/admin/v1/time:advance", R"({"by":"10s"})").json()["now"],
            "2030-01-31T10:00:10Z");
  EXPECT_EQ(Post("/admin/v1/time:advance", R"({"to":"2030-01-31T11:00:00Z"})").json()["now"],
            "2030-01-31T11:00:00Z");
  const Answer back = Post("/admin/v1/time:advance", R"({"to":"2030-01-31T10:30:00Z"})");
  EXPECT_EQ(back.status, 400);
  EXPECT_EQ(back.json()["error"]["status"], "FAILED_PRECONDITION");
  for (const std::string body :
       {"{}", R"({"by":"1s","to":"2031-01-31T10:30:00Z"})", R"({"by":10})", R"({"by":"-1s"})",
        R"({"to":"soon"})", R"({"until":"1s"})", R"({"to":"2999-01-01T00:00:00Z"})", "", "[]"}) {
    EXPECT_EQ(Post("/admin/v1/time:advance", body).status, 400) << body;
  }
  EXPECT_EQ(clock_.Now(), absl::FromUnixSeconds(kNowSeconds + 3600));
}

TEST_F(HttpApiTest, ABodyMustBeJsonAndSmall) {
  front::net::HttpRequest form = Request("POST", "/admin/v1/time:advance", R"({"by":"1s"})");
  form.headers = {{"Content-Type", "text/plain"}};
  EXPECT_EQ(Call(form).status, 415);
  form.headers.clear();
  EXPECT_EQ(Call(form).status, 415);
  EXPECT_EQ(Post("/admin/v1/faults", std::string(kAdminBodyBytesMax + 1, ' ')).status, 413);
  EXPECT_EQ(clock_.Now(), absl::FromUnixSeconds(kNowSeconds));
}

TEST_F(HttpApiTest, BackupGoesToTheEngineWithAnAbsolutePath) {
  EXPECT_EQ(Post("/admin/v1/backup", R"({"dir":"/tmp/copy"})").status, 200);
  EXPECT_THAT(engine_.backup_dirs, ElementsAre("/tmp/copy"));
  engine_.backup_status = AlreadyExists("/tmp/copy exists");
  const Answer again = Post("/admin/v1/backup", R"({"dir":"/tmp/copy"})");
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(), "/tmp/copy exists");
  for (const std::string body : {R"({"dir":"copy"})", R"({"dir":""})", R"({"dir":3})", "{}",
                                 R"({"directory":"/tmp/copy"})", "x"}) {
    EXPECT_EQ(Post("/admin/v1/backup", body).status, 400) << body;
  }
  EXPECT_EQ(engine_.backup_dirs.size(), 2u);
}

TEST_F(HttpApiTest, BackupIsRefusedFromOtherMachines) {
  front::net::HttpRequest request = Request("POST", "/admin/v1/backup", R"({"dir":"/tmp/copy"})");
  request.peer = "10.0.0.7:40000";
  EXPECT_EQ(Call(request).status, 403);
  EXPECT_THAT(engine_.backup_dirs, IsEmpty());
}

TEST_F(HttpApiTest, RequestsThatWaitForTheEngineAreBounded) {
  engine_.is_silent = true;
  for (int i = 0; i < kAdminRequestsOpenMax; ++i) EXPECT_EQ(Get("/metrics").status, 0);
  EXPECT_EQ(Get("/metrics").status, 429);
  EXPECT_EQ(Get("/healthz").status, 200);
}

}  // namespace
}  // namespace sluice::admin
