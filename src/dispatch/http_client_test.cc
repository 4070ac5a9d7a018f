// SPDX-License-Identifier: Apache-2.0

// Proves over real sockets what the client puts on the wire, how each way a
// target can fail becomes a result, and that limits and Stop hold. The targets
// are in this process; nothing waits for time to pass but the time-out tests,
// whose deadlines are short.

#include "dispatch/http_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/testing/http_target.h"

namespace sluice::dispatch {
namespace {

using core::HttpMethod;
using testing::HasSubstr;
using Kind = HttpResult::Kind;

/// Far beyond what anything here takes; reached only when a test fails.
constexpr Duration kPatience = absl::Seconds(60);
/// Of the requests that are to time out.
constexpr Duration kShortDeadline = absl::Milliseconds(200);
/// Long enough for a status to arrive on a busy machine, short enough to wait for.
constexpr Duration kMediumDeadline = absl::Seconds(2);

struct Call {
  HttpMethod method = HttpMethod::kPost;
  std::string url;
  std::vector<core::Header> headers;
  std::string body;
  Duration deadline = kPatience;
};

/// Collects results of calls, in order of completion.
class Results {
 public:
  void Add(HttpResult result) {
    {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
    }
    changed_.notify_all();
  }
  void AddDestroyed() {
    {
      const std::lock_guard lock(mutex_);
      ++destroyed_;
    }
    changed_.notify_all();
  }
  std::vector<HttpResult> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, absl::ToChronoNanoseconds(kPatience),
                      [&] { return results_.size() >= count; });
    EXPECT_GE(results_.size(), count);
    return results_;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return results_.size();
  }
  std::size_t destroyed() {
    const std::lock_guard lock(mutex_);
    return destroyed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HttpResult> results_;
  std::size_t destroyed_ = 0;
};

class TestExchange final : public HttpExchange {
 public:
  TestExchange(Call call, Results* results) : call_(std::move(call)), results_(results) {}
  ~TestExchange() override { results_->AddDestroyed(); }

  Status Describe(HttpRequestParts* parts) override {
    parts->method = call_.method;
    parts->url = call_.url;
    parts->body = call_.body;
    parts->deadline = call_.deadline;
    for (const core::Header& header : call_.headers) {
      SLUICE_RETURN_IF_ERROR(parts->headers.Add(header.name, header.value));
    }
    return {};
  }
  void Finished(HttpResult result) override { results_->Add(std::move(result)); }

 private:
  Call call_;
  Results* results_;
};

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest() : target_(HttpTarget::Start()) {}

  HttpClient& client() {
    if (client_ == nullptr) client_ = std::make_unique<HttpClient>(options_);
    return *client_;
  }
  void Submit(Call call) {
    client().Submit(std::make_unique<TestExchange>(std::move(call), &results_));
  }
  /// Sends one request and waits for its result.
  HttpResult Send(Call call) {
    const std::size_t before = results_.count();
    Submit(std::move(call));
    const std::vector<HttpResult> results = results_.Wait(before + 1);
    return results.size() > before ? results[before] : HttpResult{};
  }

  HttpClient::Options options_;
  std::unique_ptr<HttpTarget> target_;
  Results results_;
  std::unique_ptr<HttpClient> client_;
};

// --- What goes on the wire ---

TEST_F(HttpClientTest, NothingIsSentButWhatTheExchangeNamesAndTheFraming) {
  EXPECT_EQ(
      Send({.url = target_->Url("/p?q=1"), .headers = {{"X-mY", "1"}}, .body = "body"}).http_status,
      200);
  const ReceivedRequest request = target_->requests().at(0);
  EXPECT_EQ(request.head, fmt::format("POST /p?q=1 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                                      "X-mY: 1\r\nContent-Length: 4\r\n\r\n",
                                      target_->port()));
  EXPECT_EQ(request.body, "body");
}

TEST_F(HttpClientTest, EveryMethodArrivesAsItselfAlsoOnAReusedHandle) {
  const std::vector<std::pair<HttpMethod, std::string>> methods = {
      {HttpMethod::kPost, "POST"},       {HttpMethod::kGet, "GET"},
      {HttpMethod::kHead, "HEAD"},       {HttpMethod::kPut, "PUT"},
      {HttpMethod::kDelete, "DELETE"},   {HttpMethod::kPatch, "PATCH"},
      {HttpMethod::kOptions, "OPTIONS"}, {HttpMethod::kPost, "POST"},
      {HttpMethod::kHead, "HEAD"},       {HttpMethod::kPut, "PUT"},
      {HttpMethod::kGet, "GET"},         {HttpMethod::kPatch, "PATCH"}};
  for (const auto& [method, name] : methods) {
    SCOPED_TRACE(name);
    target_->Clear();
    EXPECT_EQ(Send({.method = method, .url = target_->Url("/"), .body = "body"}).http_status, 200);
    const ReceivedRequest request = target_->requests().at(0);
    EXPECT_EQ(request.method, name);
    const bool has_body = name == "POST" || name == "PUT" || name == "PATCH";
    EXPECT_EQ(request.body, has_body ? "body" : "");
    EXPECT_EQ(request.CountHeader("Content-Length"), has_body ? 1u : 0u);
    EXPECT_EQ(request.CountHeader("Content-Type"), 0u);
  }
}

TEST_F(HttpClientTest, AnEmptyBodyIsSentWithLengthZero) {
  for (const HttpMethod method : {HttpMethod::kPost, HttpMethod::kPut, HttpMethod::kPatch}) {
    target_->Clear();
    EXPECT_EQ(Send({.method = method, .url = target_->Url("/")}).http_status, 200);
    EXPECT_EQ(target_->requests().at(0).Header("Content-Length"), "0");
  }
}

TEST_F(HttpClientTest, AnEmptyHeaderIsSentEmpty) {
  Send({.url = target_->Url("/"), .headers = {{"X-Empty", ""}, {"Accept", ""}}});
  EXPECT_EQ(target_->requests().at(0).Header("X-Empty"), "");
  EXPECT_EQ(target_->requests().at(0).Header("Accept"), "");
}

TEST_F(HttpClientTest, HeadersLibcurlWouldAddAreTheCallersAlone) {
  Send({.url = target_->Url("/"),
        .headers = {{"accept", "text/plain"}, {"content-type", "text/x"}},
        .body = "b"});
  const ReceivedRequest request = target_->requests().at(0);
  EXPECT_EQ(request.Header("accept"), "text/plain");
  EXPECT_EQ(request.Header("content-type"), "text/x");
  EXPECT_EQ(request.CountHeader("Accept"), 1u);
  EXPECT_EQ(request.CountHeader("Content-Type"), 1u);
}

TEST_F(HttpClientTest, ALargeBodyIsSentWithoutAskingFirst) {
  const std::string body(3u << 20, 'x');
  EXPECT_EQ(Send({.url = target_->Url("/"), .body = body}).http_status, 200);
  const ReceivedRequest request = target_->requests().at(0);
  EXPECT_EQ(request.CountHeader("Expect"), 0u);
  EXPECT_EQ(request.body, body);
}

TEST_F(HttpClientTest, ThePathIsNotTidied) {
  Send({.url = target_->Url("/a/../b/./c//%2e%2E/%zz?%z")});
  EXPECT_EQ(target_->requests().at(0).target, "/a/../b/./c//%2e%2E/%zz?%z");
}

TEST_F(HttpClientTest, ConnectionsAreKept) {
  for (int i = 0; i < 20; ++i) Send({.url = target_->Url("/")});
  EXPECT_EQ(target_->connection_count(), 1u);
  EXPECT_EQ(client().counters().connections_opened, 1u);
}

TEST_F(HttpClientTest, AConnectionTheTargetClosedIsReplaced) {
  const auto closing = HttpTarget::Start({.requests_per_connection_max = 2});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Send({.url = closing->Url("/")}).kind, Kind::kResponse);
  }
  EXPECT_EQ(closing->request_count(), 10u);
  EXPECT_EQ(closing->connection_count(), 5u);
}

TEST_F(HttpClientTest, ProxySettingsOfTheEnvironmentAreIgnored) {
  const std::string proxy = fmt::format("http://127.0.0.1:{}", ClosedPort());
  ::setenv("http_proxy", proxy.c_str(), 1);  // tidy: allow(banned-call) libcurl would read it
  ::setenv("ALL_PROXY", proxy.c_str(), 1);   // tidy: allow(banned-call) libcurl would read it
  const HttpResult result = Send({.url = target_->Url("/")});
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  EXPECT_EQ(result.kind, Kind::kResponse) << result.message;
}

// --- What an answer becomes ---

TEST_F(HttpClientTest, EveryStatusIsAResponse) {
  const std::vector<int> statuses = {200, 204, 299, 301, 302, 304, 400, 404, 429, 500, 503, 599};
  for (const int status : statuses) {
    target_->Script({{.status = status}});
    const HttpResult result = Send({.url = target_->Url("/")});
    EXPECT_EQ(result.kind, Kind::kResponse) << status;
    EXPECT_EQ(result.http_status, status);
    EXPECT_EQ(result.message, "");
  }
  EXPECT_EQ(target_->request_count(), statuses.size());
}

TEST_F(HttpClientTest, AnEndlessBodyIsCutAndItsStatusCounts) {
  target_->Script({{.status = 200, .form = HttpAnswer::Form::kEndlessBody},
                   {.status = 500, .form = HttpAnswer::Form::kEndlessBody}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 500);
  EXPECT_TRUE(target_->WaitForCancelled(2, kPatience));
}

TEST_F(HttpClientTest, ABodyAtTheCapKeepsTheConnectionAndOnePastItDoesNot) {
  constexpr std::size_t kCap = 1000;
  options_.transfer.response_body_bytes_max = kCap;
  target_->Script({{.body = std::string(kCap, 'x')}, {}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(target_->connection_count(), 1u);
  target_->Script({{.body = std::string(kCap + 1, 'x')}, {}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(target_->connection_count(), 2u);
}

TEST_F(HttpClientTest, ABodyThatTricklesEndsAtTheDeadlineWithItsStatus) {
  target_->Script({{.form = HttpAnswer::Form::kEndlessBody, .pace = absl::Milliseconds(50)}});
  const HttpResult result = Send({.url = target_->Url("/"), .deadline = kMediumDeadline});
  EXPECT_EQ(result.kind, Kind::kResponse);
  EXPECT_EQ(result.http_status, 200);
}

TEST_F(HttpClientTest, ATruncatedBodyDoesNotChangeTheStatus) {
  target_->Script({{.body = "half", .form = HttpAnswer::Form::kTruncatedBody}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
}

TEST_F(HttpClientTest, AnInterimStatusIsNoAnswer) {
  target_->Script({{.status = 103}});  // and then nothing: the target waits for a request
  const HttpResult result = Send({.url = target_->Url("/"), .deadline = kShortDeadline});
  EXPECT_EQ(result.kind, Kind::kTimedOut);
}

TEST_F(HttpClientTest, EndlessHeadersFailWithinBounds) {
  target_->Script({{.form = HttpAnswer::Form::kEndlessHead}});
  const HttpResult result = Send({.url = target_->Url("/")});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, HasSubstr("262144 bytes"));
  EXPECT_TRUE(target_->WaitForCancelled(1, kPatience));
}

TEST_F(HttpClientTest, GarbageIsAFailedConnection) {
  target_->Script({{.form = HttpAnswer::Form::kGarbage}});
  const HttpResult result = Send({.url = target_->Url("/")});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, HasSubstr(fmt::format("http://127.0.0.1:{}: ", target_->port())));
}

TEST_F(HttpClientTest, AConnectionClosedWithoutAnAnswerFails) {
  target_->Script({{.form = HttpAnswer::Form::kClose}});
  const HttpResult result = Send({.url = target_->Url("/")});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_EQ(target_->request_count(), 1u);
}

TEST_F(HttpClientTest, AKeptConnectionThatBreaksBeforeAnAnswerIsReplacedOnce) {
  target_->Script({{}, {.form = HttpAnswer::Form::kClose}, {.status = 202}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 202);
  EXPECT_EQ(target_->request_count(), 3u);
  target_->Script({{.form = HttpAnswer::Form::kClose}, {.form = HttpAnswer::Form::kClose}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).kind, Kind::kConnectionFailed);
  EXPECT_EQ(target_->request_count(), 5u);
}

TEST_F(HttpClientTest, ARefusedConnectionFailsAndNamesTheTarget) {
  const std::uint16_t port = ClosedPort();
  const HttpResult result =
      Send({.url = fmt::format("http://user:secret@127.0.0.1:{}/p?token=x", port)});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, HasSubstr(fmt::format("http://127.0.0.1:{}: ", port)));
  EXPECT_THAT(result.message, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(result.message, testing::Not(HasSubstr("token")));
}

TEST_F(HttpClientTest, AUrlThatCannotBeCalledFails) {
  for (const char* url : {"", "http://", "http://h:99999/", "ftp://127.0.0.1/", "http://%zz/",
                          "file:///etc/passwd", "gopher://127.0.0.1/"}) {
    const HttpResult result = Send({.url = url});
    EXPECT_EQ(result.kind, Kind::kConnectionFailed) << url;
    EXPECT_NE(result.message, "") << url;
  }
}

TEST_F(HttpClientTest, AnExchangeThatCannotBeDescribedFails) {
  const HttpResult result = Send({.url = target_->Url("/"), .headers = {{"X\xff", "1"}}});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, HasSubstr("header name 'X?'"));
  EXPECT_EQ(target_->request_count(), 0u);
}

// --- Deadlines ---

TEST_F(HttpClientTest, ATargetThatHangsTimesOutAndIsCancelled) {
  target_->Script({{.form = HttpAnswer::Form::kHang}});
  const HttpResult result = Send({.url = target_->Url("/"), .deadline = kShortDeadline});
  EXPECT_EQ(result.kind, Kind::kTimedOut);
  // libcurl counts whole milliseconds.
  EXPECT_GE(result.latency, kShortDeadline - absl::Milliseconds(1));
  EXPECT_THAT(result.message, HasSubstr("deadline of 0.2 s"));
  EXPECT_TRUE(target_->WaitForCancelled(1, kPatience));
}

TEST_F(HttpClientTest, AHeadThatTricklesTimesOut) {
  target_->Script({{.form = HttpAnswer::Form::kSlowHead, .pace = absl::Milliseconds(20)}});
  const HttpResult result = Send({.url = target_->Url("/"), .deadline = kShortDeadline});
  EXPECT_EQ(result.kind, Kind::kTimedOut);
}

TEST_F(HttpClientTest, AHangingTargetDoesNotHoldUpOthers) {
  target_->Script({{.form = HttpAnswer::Form::kHang}});
  Submit({.url = target_->Url("/")});
  ASSERT_TRUE(target_->WaitForRequests(1, kPatience));
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
}

TEST_F(HttpClientTest, AConnectionThatDoesNotComeUpFailsBeforeTheDeadline) {
  // A TLS handshake belongs to coming up; this target waits for plain text.
  options_.transfer.connect_timeout = kShortDeadline;
  const HttpResult result = Send({.url = fmt::format("https://127.0.0.1:{}/", target_->port())});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed) << result.message;
}

// --- TLS ---

class HttpClientTlsTest : public HttpClientTest {
 protected:
  HttpClientTlsTest() { target_ = HttpTarget::Start({.is_tls = true}); }
};

TEST_F(HttpClientTlsTest, ACertificateNobodyVouchesForFails) {
  const HttpResult result = Send({.url = target_->Url("/")});
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, HasSubstr("certificate"));
  EXPECT_EQ(target_->request_count(), 0u);
}

TEST_F(HttpClientTlsTest, TheSkipSwitchAcceptsIt) {
  options_.transfer.is_tls_verified = false;
  EXPECT_EQ(Send({.url = target_->Url("/"), .body = "b"}).http_status, 200);
  EXPECT_EQ(target_->requests().at(0).body, "b");
}

TEST_F(HttpClientTlsTest, AnAuthorityOfTheUsersOwnIsEnoughAndConnectionsAreKept) {
  char path[] = "/tmp/sluice_ca_XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  std::ofstream(path) << target_->certificate();
  options_.transfer.ca_file = path;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 200);
  EXPECT_EQ(target_->connection_count(), 1u);
  ::close(fd);
  ::unlink(path);
}

// --- Redirects ---

TEST_F(HttpClientTest, ByDefaultARedirectIsAnAnswer) {
  target_->Script({{.status = 302, .headers = {{"Location", target_->Url("/next")}}}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 302);
  EXPECT_EQ(target_->request_count(), 1u);
}

TEST_F(HttpClientTest, ARedirectIsFollowedWithMethodBodyAndHeaders) {
  options_.transfer.redirects_max = 1;
  target_->Script({{.status = 302, .headers = {{"Location", target_->Url("/next")}}}});
  EXPECT_EQ(Send({.method = HttpMethod::kPut,
                  .url = target_->Url("/"),
                  .headers = {{"Authorization", "Bearer t"}, {"X-A", "1"}},
                  .body = "body"})
                .http_status,
            200);
  const ReceivedRequest request = target_->requests().at(1);
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/next");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.Header("Authorization"), "Bearer t");
  EXPECT_EQ(request.Header("X-A"), "1");
}

TEST_F(HttpClientTest, CredentialsStayBehindWhenTheHostChanges) {
  options_.transfer.redirects_max = 1;
  const auto other = HttpTarget::Start();
  target_->Script({{.status = 307, .headers = {{"Location", other->Url("/next")}}}});
  Send({.url = target_->Url("/"),
        .headers = {{"authorization", "Bearer t"}, {"Cookie", "c=1"}, {"X-A", "1"}}});
  const ReceivedRequest request = other->requests().at(0);
  EXPECT_EQ(request.CountHeader("Authorization"), 0u);
  EXPECT_EQ(request.CountHeader("Cookie"), 0u);
  EXPECT_EQ(request.Header("X-A"), "1");
}

TEST_F(HttpClientTest, TheNumberOfRedirectsIsBounded) {
  options_.transfer.redirects_max = 100;
  target_->SetDefault({.status = 308, .headers = {{"Location", target_->Url("/again")}}});
  EXPECT_EQ(Send({.url = target_->Url("/")}).http_status, 308);
  EXPECT_EQ(target_->request_count(), 1u + kRedirectsMax);
}

TEST_F(HttpClientTest, TheDeadlineCoversAllHops) {
  options_.transfer.redirects_max = kRedirectsMax;
  target_->Script({{.status = 302,
                    .headers = {{"Location", target_->Url("/next")}},
                    .delay = kShortDeadline / 2},
                   {.form = HttpAnswer::Form::kHang}});
  const HttpResult result = Send({.url = target_->Url("/"), .deadline = kShortDeadline});
  EXPECT_EQ(result.kind, Kind::kTimedOut);
  // libcurl counts whole milliseconds.
  EXPECT_GE(result.latency, kShortDeadline - absl::Milliseconds(1));
  EXPECT_LT(result.latency, kPatience);
}

// --- Limits and Stop ---

TEST_F(HttpClientTest, BeyondTheLimitExchangesFailAndBelowItTheyRunAgain) {
  constexpr std::size_t kLimit = 3;
  options_.in_flight_max = kLimit;
  target_->SetDefault({.form = HttpAnswer::Form::kHang});
  for (std::size_t i = 0; i < kLimit; ++i) Submit({.url = target_->Url("/")});
  const HttpResult refused = Send({.url = target_->Url("/")});
  EXPECT_EQ(refused.kind, Kind::kConnectionFailed);
  EXPECT_THAT(refused.message, HasSubstr("3 requests open"));
  EXPECT_EQ(client().counters().refused, 1u);
  ASSERT_TRUE(target_->WaitForRequests(kLimit, kPatience));
  target_->Stop();  // ends the hanging ones
  results_.Wait(kLimit + 1);
  const auto other = HttpTarget::Start();
  EXPECT_EQ(Send({.url = other->Url("/")}).http_status, 200);
}

TEST_F(HttpClientTest, ManyInFlightSpreadOverCellsAndAllComeBack) {
  constexpr std::size_t kCalls = 60;
  options_.reactor.transfers_per_cell = 8;  // so that a few dozen need many cells
  options_.reactor.connections_per_cell = 8;
  target_->SetDefault({.form = HttpAnswer::Form::kHang});
  for (std::size_t i = 0; i < kCalls; ++i) Submit({.url = target_->Url("/")});
  ASSERT_TRUE(target_->WaitForRequests(kCalls, kPatience));
  EXPECT_EQ(target_->concurrency_max(), kCalls);
  target_->Stop();
  for (const HttpResult& result : results_.Wait(kCalls)) {
    EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  }
  target_ = HttpTarget::Start();
  for (std::size_t i = 0; i < kCalls; ++i) Submit({.url = target_->Url("/")});
  const std::vector<HttpResult> results = results_.Wait(2 * kCalls);
  EXPECT_TRUE(std::all_of(results.begin() + kCalls, results.end(),
                          [](const HttpResult& result) { return result.http_status == 200; }));
}

TEST_F(HttpClientTest, StopWaitsForWhatIsOpen) {
  target_->SetDefault({.delay = absl::Milliseconds(100)});
  Submit({.url = target_->Url("/")});
  client().Stop(kPatience);
  ASSERT_EQ(results_.count(), 1u);
  EXPECT_EQ(results_.Wait(1)[0].http_status, 200);
  EXPECT_EQ(client().counters().abandoned, 0u);
}

TEST_F(HttpClientTest, StopEndsTheRestWithoutAResult) {
  target_->SetDefault({.form = HttpAnswer::Form::kHang});
  Submit({.url = target_->Url("/")});
  Submit({.url = target_->Url("/")});
  ASSERT_TRUE(target_->WaitForRequests(2, kPatience));
  client().Stop(absl::Milliseconds(1));
  EXPECT_EQ(results_.count(), 0u);
  EXPECT_EQ(results_.destroyed(), 2u);
  EXPECT_EQ(client().counters().abandoned, 2u);
  EXPECT_EQ(client().counters().open, 0u);
  EXPECT_TRUE(target_->WaitForCancelled(2, kPatience));
}

TEST_F(HttpClientTest, AfterStopNothingIsSent) {
  client().Stop(absl::ZeroDuration());
  Submit({.url = target_->Url("/")});
  EXPECT_EQ(results_.destroyed(), 1u);
  EXPECT_EQ(results_.count(), 0u);
  EXPECT_EQ(target_->request_count(), 0u);
}

}  // namespace
}  // namespace sluice::dispatch
