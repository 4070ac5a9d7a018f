// SPDX-License-Identifier: Apache-2.0

// Proves the dispatcher's share of the acceptance list (79-81, 83, 85-93) over
// real sockets: what of a task arrives at its target, and what outcome the
// engine is told. What the core makes of an outcome is not tested here.

#include "dispatch/task_dispatcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/testing/http_target.h"

namespace sluice::dispatch {
namespace {

using testing::HasSubstr;
using Kind = core::AttemptOutcome::Kind;

constexpr Duration kPatience = absl::Seconds(60);
constexpr Duration kShortDeadline = absl::Milliseconds(200);
constexpr std::int64_t kScheduledUs = 1'700'000'000'000'042;

class TaskDispatcherTest : public testing::Test {
 protected:
  TaskDispatcherTest() : target_(HttpTarget::Start()) {
    body_.task_id = "my-task";
    body_.request.url = target_->Url("/task");
    body_.dispatch_deadline = kPatience;
    progress_.dispatch_count = 1;
    progress_.schedule_time = FromMicros(kScheduledUs);
  }

  TaskDispatcher& dispatcher() {
    if (dispatcher_ == nullptr) {
      dispatcher_ = std::make_unique<TaskDispatcher>(options_, targets_options_, tokens_);
    }
    return *dispatcher_;
  }

  void Start() {
    core::StartAttempt attempt;
    attempt.queue = {{"project", "location"}, "my-queue"};
    attempt.task.body = std::make_shared<core::TaskBody>(body_);
    attempt.task.progress = progress_;
    attempt.targets = core::QueueTargets(queue_targets_);
    dispatcher().Start(std::move(attempt), [this](core::AttemptOutcome outcome) {
      {
        const std::lock_guard lock(mutex_);
        outcomes_.push_back(std::move(outcome));
      }
      changed_.notify_all();
    });
  }

  std::vector<core::AttemptOutcome> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, absl::ToChronoNanoseconds(kPatience),
                                  [&] { return outcomes_.size() >= count; }));
    return outcomes_;
  }

  core::AttemptOutcome Run() {
    std::size_t before = 0;
    {
      const std::lock_guard lock(mutex_);
      before = outcomes_.size();
    }
    Start();
    const std::vector<core::AttemptOutcome> outcomes = Wait(before + 1);
    return outcomes.size() > before ? outcomes[before] : core::AttemptOutcome{};
  }

  /// What the core makes of an outcome, as far as headers show it.
  void Retry(const core::AttemptOutcome& outcome) {
    ++progress_.dispatch_count;
    switch (outcome.kind) {
      case Kind::kResponse:
        progress_.previous_response = outcome.http_status;
        if (outcome.http_status < 500) ++progress_.execution_count;
        break;
      case Kind::kTimedOut:
        progress_.previous_response = 504;
        break;
      case Kind::kConnectionFailed:
        progress_.previous_response = 503;
        break;
    }
  }

  HttpClient::Options options_;
  TargetOptions targets_options_;
  DispatchTokens tokens_;
  core::QueueTargets::Settings queue_targets_;
  std::unique_ptr<HttpTarget> target_;
  core::TaskBody body_;
  core::TaskProgress progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<core::AttemptOutcome> outcomes_;
  std::unique_ptr<TaskDispatcher> dispatcher_;  // last: its thread uses what is above
};

TEST_F(TaskDispatcherTest, TheFirstAttemptArrivesWithExactlyItsHeaders) {
  body_.request.body = "body";
  body_.request.headers = {{"X-My-Header", "v"}};
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(target_->requests().at(0).head,
            fmt::format("POST /task HTTP/1.1\r\n"
                        "Host: 127.0.0.1:{}\r\n"
                        "X-My-Header: v\r\n"
                        "User-Agent: Google-Cloud-Tasks\r\n"
                        "X-CloudTasks-QueueName: my-queue\r\n"
                        "X-CloudTasks-TaskName: my-task\r\n"
                        "X-CloudTasks-TaskRetryCount: 0\r\n"
                        "X-CloudTasks-TaskExecutionCount: 0\r\n"
                        "X-CloudTasks-TaskETA: 1700000000.000042\r\n"
                        "Content-Length: 4\r\n\r\n",
                        target_->port()));
}

TEST_F(TaskDispatcherTest, RetriesCarryTheRecordedSequenceOfHeaders) {
  const std::vector<int> statuses = {503, 404, 429, 500, 302, 200};
  const std::vector<std::string> executions = {"0", "0", "1", "2", "2", "3"};
  for (const int status : statuses) target_->Script({{.status = status}});
  for (std::size_t i = 0; i < statuses.size(); ++i) Retry(Run());
  const std::vector<ReceivedRequest> requests = target_->requests();
  ASSERT_EQ(requests.size(), statuses.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(requests[i].Header("X-CloudTasks-TaskRetryCount"), std::to_string(i));
    EXPECT_EQ(requests[i].Header("X-CloudTasks-TaskExecutionCount"), executions[i]);
    if (i == 0) {
      EXPECT_EQ(requests[i].CountHeader("X-CloudTasks-TaskPreviousResponse"), 0u);
      EXPECT_EQ(requests[i].CountHeader("X-CloudTasks-TaskRetryReason"), 0u);
    } else {
      EXPECT_EQ(requests[i].Header("X-CloudTasks-TaskPreviousResponse"),
                std::to_string(statuses[i - 1]));
      EXPECT_EQ(requests[i].Header("X-CloudTasks-TaskRetryReason"), "");
    }
  }
}

TEST_F(TaskDispatcherTest, AHandlerSlowerThanTheDeadlineIsCutOffAndTheRetryTells) {
  body_.dispatch_deadline = kShortDeadline;
  target_->Script({{.form = HttpAnswer::Form::kHang}});
  const core::AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.kind, Kind::kTimedOut);
  EXPECT_THAT(outcome.message, HasSubstr("deadline of 0.2 s"));
  EXPECT_TRUE(target_->WaitForCancelled(1, kPatience));
  Retry(outcome);
  EXPECT_EQ(Run().http_status, 200);
  const ReceivedRequest retry = target_->requests().at(1);
  EXPECT_EQ(retry.Header("X-CloudTasks-TaskPreviousResponse"), "504");
  EXPECT_EQ(retry.Header("X-CloudTasks-TaskExecutionCount"), "0");
  EXPECT_EQ(retry.Header("X-CloudTasks-TaskRetryReason"), "");
}

TEST_F(TaskDispatcherTest, ServiceHeadersInATaskArriveOnceWithTheServicesValue) {
  body_.request.headers = {{"Content-Length", "3"},        {"Expect", "100-continue"},
                           {"Host", "elsewhere"},          {"Transfer-Encoding", "chunked"},
                           {"X-AppEngine-B", "1"},         {"X-Google-A", "1"},
                           {"user-agent", "mine"},         {"x-cloudtasks-taskname", "forged"},
                           {"X-CLOUDTASKS-TASKNAME", "2"}, {"X-My-Header", "kept"}};
  EXPECT_EQ(Run().http_status, 200);
  const ReceivedRequest request = target_->requests().at(0);
  EXPECT_EQ(request.CountHeader("X-CloudTasks-TaskName"), 1u);
  EXPECT_EQ(request.Header("X-CloudTasks-TaskName"), "my-task");
  EXPECT_EQ(request.CountHeader("User-Agent"), 1u);
  EXPECT_EQ(request.Header("User-Agent"), "Google-Cloud-Tasks");
  EXPECT_EQ(request.Header("Host"), fmt::format("127.0.0.1:{}", target_->port()));
  EXPECT_EQ(request.Header("Content-Length"), "0");
  EXPECT_EQ(request.Header("X-My-Header"), "kept");
  for (const char* name : {"Expect", "Transfer-Encoding", "X-AppEngine-B", "X-Google-A"}) {
    EXPECT_EQ(request.CountHeader(name), 0u) << name;
  }
}

TEST_F(TaskDispatcherTest, ABodyWithoutAContentTypeStaysWithoutOne) {
  body_.request.body = "body";
  Run();
  body_.request.body.clear();
  Run();
  const std::vector<ReceivedRequest> requests = target_->requests();
  EXPECT_EQ(requests.at(0).CountHeader("Content-Type"), 0u);
  EXPECT_EQ(requests.at(1).CountHeader("Content-Type"), 0u);
  EXPECT_EQ(requests.at(1).Header("Content-Length"), "0");
}

TEST_F(TaskDispatcherTest, EveryStatusIsReportedAsItIs) {
  for (const int status : {200, 204, 299, 301, 400, 404, 500}) {
    target_->Script({{.status = status}});
    const core::AttemptOutcome outcome = Run();
    EXPECT_EQ(outcome.kind, Kind::kResponse);
    EXPECT_EQ(outcome.http_status, status);
  }
}

TEST_F(TaskDispatcherTest, ARedirectIsNotFollowed) {
  target_->Script({{.status = 302, .headers = {{"Location", target_->Url("/next")}}}});
  EXPECT_EQ(Run().http_status, 302);
  EXPECT_EQ(target_->request_count(), 1u);
}

TEST_F(TaskDispatcherTest, AFailedConnectionSaysWhyAndTheNextAttemptSucceeds) {
  const std::string url = body_.request.url;
  body_.request.url = fmt::format("http://127.0.0.1:{}/", ClosedPort());
  const core::AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.kind, Kind::kConnectionFailed);
  EXPECT_THAT(outcome.message, HasSubstr("http://127.0.0.1:"));
  body_.request.url = url;
  EXPECT_EQ(Run().http_status, 200);
}

TEST_F(TaskDispatcherTest, ACertificateNobodyVouchesForFailsUnlessVerificationIsOff) {
  const auto tls = HttpTarget::Start({.is_tls = true});
  body_.request.url = tls->Url("/");
  EXPECT_EQ(Run().kind, Kind::kConnectionFailed);
  dispatcher_.reset();
  options_.transfer.is_tls_verified = false;
  EXPECT_EQ(Run().http_status, 200);
}

TEST_F(TaskDispatcherTest, AnEndlessBodyWithStatus200IsASuccess) {
  target_->Script({{.form = HttpAnswer::Form::kEndlessBody}});
  EXPECT_EQ(Run().http_status, 200);
}

TEST_F(TaskDispatcherTest, AMalformedEscapeFailsTheAttemptBeforeAnythingIsSent) {
  body_.request.url = target_->Url("/%zz");
  const core::AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.kind, Kind::kConnectionFailed);
  EXPECT_THAT(outcome.message, HasSubstr("malformed percent escape"));
  EXPECT_EQ(target_->request_count(), 0u);
}

TEST_F(TaskDispatcherTest, SpacesAreEncodedAndTheFragmentStaysHere) {
  body_.request.url = target_->Url("/a b?c d#e");
  Run();
  EXPECT_EQ(target_->requests().at(0).target, "/a%20b?c%20d");
}

TEST_F(TaskDispatcherTest, AStoppedDispatcherReportsNoOutcome) {
  target_->SetDefault({.form = HttpAnswer::Form::kHang});
  Start();
  ASSERT_TRUE(target_->WaitForRequests(1, kPatience));
  dispatcher().Stop(absl::Milliseconds(1));
  Start();
  EXPECT_TRUE(outcomes_.empty());
  const DispatchMetrics metrics = dispatcher().Metrics();
  EXPECT_EQ(metrics.attempts_started, 2u);
  EXPECT_EQ(metrics.attempts_abandoned, 2u);
  EXPECT_EQ(metrics.attempts_open, 0u);
}

TEST_F(TaskDispatcherTest, MetricsTellOutcomesApart) {
  target_->Script({{.status = 200}, {.status = 503}});
  Run();
  Run();
  body_.request.url = fmt::format("http://127.0.0.1:{}/", ClosedPort());
  Run();
  const DispatchMetrics metrics = dispatcher().Metrics();
  EXPECT_EQ(metrics.attempts_started, 3u);
  EXPECT_EQ(metrics.responses[2], 1u);
  EXPECT_EQ(metrics.responses[5], 1u);
  EXPECT_EQ(metrics.latency[static_cast<std::size_t>(Kind::kResponse)].count, 2u);
  EXPECT_EQ(metrics.latency[static_cast<std::size_t>(Kind::kConnectionFailed)].count, 1u);
  EXPECT_GT(metrics.latency[static_cast<std::size_t>(Kind::kResponse)].sum_us, 0u);
}

TEST_F(TaskDispatcherTest, AnOutcomeMayStartTheNextAttempt) {
  constexpr int kChain = 50;
  core::StartAttempt attempt;
  attempt.queue = {{"project", "location"}, "my-queue"};
  attempt.task = {std::make_shared<core::TaskBody>(body_), progress_};
  int done = 0;  // of the dispatcher's thread until the last outcome
  std::function<void(core::AttemptOutcome)> next = [&](core::AttemptOutcome outcome) {
    if (++done < kChain) {
      dispatcher_->Start(attempt, next);
      return;
    }
    const std::lock_guard lock(mutex_);
    outcomes_.push_back(std::move(outcome));
    changed_.notify_all();
  };
  dispatcher().Start(attempt, next);
  Wait(1);
  EXPECT_EQ(target_->request_count(), static_cast<std::size_t>(kChain));
  EXPECT_EQ(target_->connection_count(), 1u);
}

// Says which URL it was asked for.
class EchoTokens final : public TokenSource {
 public:
  StatusOr<std::string> Bearer(const core::Token& token, std::string_view url) override {
    if (is_broken) return Internal("no key");
    const auto* oidc = std::get_if<core::OidcToken>(&token);
    return fmt::format("{}|{}", oidc != nullptr ? oidc->service_account_email : "access", url);
  }
  bool is_broken = false;
};

class DispatcherTokensTest : public TaskDispatcherTest {
 protected:
  DispatcherTokensTest() {
    tokens_ = {&source_, &worker_};
    body_.request.headers = {{"authorization", "the user's"}};
  }
  std::vector<std::string> Authorizations() {
    std::vector<std::string> values;
    const ReceivedRequest request = target_->requests().at(0);
    for (const auto& [name, value] : request.headers) {
      if (name == "Authorization" || name == "authorization") values.push_back(value);
    }
    return values;
  }

  EchoTokens source_;
  env::InlineExecutor worker_;
};

TEST_F(DispatcherTokensTest, ATokenReplacesTheUsersAuthorization) {  // [114]
  body_.request.token = core::OidcToken{"a@b", ""};
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(Authorizations(), std::vector{fmt::format("Bearer a@b|{}", body_.request.url)});
}

TEST_F(DispatcherTokensTest, WithoutATokenTheUsersAuthorizationPasses) {  // [114]
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(Authorizations(), std::vector<std::string>{"the user's"});
}

TEST_F(DispatcherTokensTest, TheQueuesTokenWinsForTheUrlThatIsCalled) {  // [111] [113]
  body_.request.token = core::OAuthToken{"c@d", ""};
  queue_targets_.http.token = core::OidcToken{"a@b", "aud"};
  queue_targets_.http.uri.query = "q=2";
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(Authorizations(), std::vector{fmt::format("Bearer a@b|{}?q=2", body_.request.url)});
}

TEST_F(DispatcherTokensTest, ATokenThatCannotBeMadeFailsTheAttempt) {
  source_.is_broken = true;
  body_.request.token = core::OidcToken{"a@b", ""};
  const core::AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.kind, Kind::kConnectionFailed);
  EXPECT_THAT(outcome.message, HasSubstr("no key"));
  EXPECT_TRUE(target_->requests().empty()) << "nothing is sent without its token";
}

TEST_F(TaskDispatcherTest, WithoutAnIssuerAnAttemptWithATokenFails) {
  body_.request.token = core::OidcToken{"a@b", ""};
  EXPECT_EQ(Run().kind, Kind::kConnectionFailed);
  EXPECT_TRUE(target_->requests().empty());
}

TEST_F(TaskDispatcherTest, TheQueuesTargetIsUsedWhereTheAttemptGoes) {  // [108] [109]
  queue_targets_.http.uri.port = target_->port();
  queue_targets_.http.uri.host = "127.0.0.1";
  queue_targets_.http.uri.path = "/y";
  body_.request.url = "http://no.such.host.invalid:1/x?k=1";
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(target_->requests().at(0).target, "/y?k=1");
  queue_targets_ = {};
  EXPECT_EQ(Run().kind, Kind::kConnectionFailed) << "without it the task's own URL counts again";
}

TEST_F(TaskDispatcherTest, AMethodWithoutABodyDropsTheTasksBody) {  // [110]
  body_.request.body = "body";
  for (const auto method :
       {core::HttpMethod::kGet, core::HttpMethod::kDelete, core::HttpMethod::kOptions}) {
    queue_targets_.http.method = method;
    EXPECT_EQ(Run().http_status, 200);
  }
  ASSERT_EQ(target_->requests().size(), 3u);
  EXPECT_EQ(target_->requests()[0].method, "GET");
  EXPECT_EQ(target_->requests()[1].method, "DELETE");
  EXPECT_EQ(target_->requests()[2].method, "OPTIONS");
  for (const auto& request : target_->requests()) EXPECT_EQ(request.body, "");
}

class DispatcherAppEngineTest : public TaskDispatcherTest {
 protected:
  DispatcherAppEngineTest() {
    body_.request.app_engine.emplace();
    body_.request.url = "/work?a=b";
    EXPECT_TRUE(targets_options_.app_engine.Add("default=" + target_->Url("/base")).ok());
  }
};

TEST_F(DispatcherAppEngineTest, ATaskGoesToTheUrlOfItsServiceWithItsHeaders) {  // [67] [82]
  body_.request.headers = {{"User-Agent", "AppEngine-Google; (x)"}};
  body_.request.token = core::OidcToken{"never", "for App Engine"};
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_EQ(target_->requests().at(0).head, fmt::format("POST /base/work?a=b HTTP/1.1\r\n"
                                                        "Host: 127.0.0.1:{}\r\n"
                                                        "User-Agent: AppEngine-Google; (x)\r\n"
                                                        "X-AppEngine-QueueName: my-queue\r\n"
                                                        "X-AppEngine-TaskName: my-task\r\n"
                                                        "X-AppEngine-TaskRetryCount: 0\r\n"
                                                        "X-AppEngine-TaskExecutionCount: 0\r\n"
                                                        "X-AppEngine-TaskETA: 1700000000.000042\r\n"
                                                        "Content-Length: 0\r\n\r\n",
                                                        target_->port()));
}

TEST_F(DispatcherAppEngineTest, TheQueuesRoutingWinsAsAWhole) {  // [112]
  const std::unique_ptr<HttpTarget> other = HttpTarget::Start();
  dispatcher_.reset();
  ASSERT_TRUE(targets_options_.app_engine.Add("s=" + other->Url("")).ok());
  body_.request.app_engine = core::AppEngineRouting{.service = "unknown", .version = "v"};
  queue_targets_.app_engine = {.service = "s"};
  queue_targets_.http.uri.path = "/not-for-app-engine";
  EXPECT_EQ(Run().http_status, 200);
  EXPECT_TRUE(target_->requests().empty());
  ASSERT_EQ(other->requests().size(), 1u);
  EXPECT_EQ(other->requests()[0].target, "/work?a=b");
}

TEST_F(DispatcherAppEngineTest, AServiceWithoutAnAddressFailsTheAttemptByName) {
  body_.request.app_engine = core::AppEngineRouting{.service = "lost"};
  const core::AttemptOutcome outcome = Run();
  EXPECT_EQ(outcome.kind, Kind::kConnectionFailed);
  EXPECT_THAT(outcome.message, HasSubstr("\"lost\": set app_engine.targets"));
}

TEST_F(DispatcherAppEngineTest, ARedirectIsNeverFollowed) {  // [90]
  options_.transfer.redirects_max = kRedirectsMax;
  target_->Script({{.status = 302, .headers = {{"Location", target_->Url("/else")}}}});
  EXPECT_EQ(Run().http_status, 302);
  EXPECT_EQ(target_->requests().size(), 1u);
}

TEST_F(DispatcherAppEngineTest, ATaskWithoutADeadlineHasTheServers) {
  targets_options_.app_engine_deadline = kShortDeadline;
  body_.dispatch_deadline = absl::ZeroDuration();
  target_->Script({{.form = HttpAnswer::Form::kHang}});
  EXPECT_EQ(Run().kind, Kind::kTimedOut);
}

TEST_F(TaskDispatcherTest, RetryAfterIsReportedAsSecondsAndAsADate) {  // [106]
  target_->Script({{.status = 429, .headers = {{"Retry-After", "30"}}}});
  EXPECT_EQ(Run().retry_after, absl::Seconds(30));
  target_->Script({{.status = 503, .headers = {{"Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT"}}}});
  EXPECT_GT(Run().retry_after, absl::Hours(24 * 365));
  target_->Script({{.status = 503, .headers = {{"Retry-After", "soon"}}}});
  EXPECT_EQ(Run().retry_after, absl::ZeroDuration());
  target_->Script({{.status = 503}});
  EXPECT_EQ(Run().retry_after, absl::ZeroDuration()) << "nothing is kept from the answer before";
}

}  // namespace
}  // namespace sluice::dispatch
