// SPDX-License-Identifier: Apache-2.0

// Proves that names are looked up beside the client's thread: a look-up that
// hangs holds up neither other requests, nor its own deadline, nor Stop. To have
// one that hangs, this program brings its own getaddrinfo, which libcurl finds
// before the C library's.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <condition_variable>
#include <mutex>
#include <string_view>

#include "dispatch/http_client.h"
#include "dispatch/testing/http_target.h"

namespace {

constexpr std::string_view kHangingName = "hanging.test";
constexpr std::string_view kUnknownName = "unknown.test";
constexpr std::string_view kLocalName = "local.test";

struct LookUps {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_released = false;
  int hanging = 0;
  int answered = 0;
};

LookUps& State() {
  static LookUps state;
  return state;
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto kReal = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = node == nullptr ? "" : node;
  if (name == kUnknownName) return EAI_NONAME;
  if (name == kHangingName) {
    LookUps& state = State();
    std::unique_lock lock(state.mutex);
    ++state.hanging;
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return state.is_released; });
    --state.hanging;
    ++state.answered;
    state.changed.notify_all();
    return EAI_AGAIN;
  }
  return kReal(name == kLocalName ? "127.0.0.1" : node, service, hints, result);
}

namespace sluice::dispatch {
namespace {

using Kind = HttpResult::Kind;

constexpr Duration kPatience = absl::Seconds(60);
constexpr Duration kShortDeadline = absl::Milliseconds(200);

/// The result of one request, waited for.
class Pending {
 public:
  void Set(HttpResult result) {
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
      is_set_ = true;
    }
    changed_.notify_all();
  }
  HttpResult Wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, absl::ToChronoNanoseconds(kPatience), [&] { return is_set_; }));
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpResult result_;
  bool is_set_ = false;
};

class Get final : public HttpExchange {
 public:
  Get(std::string url, Duration deadline, Pending* pending)
      : url_(std::move(url)), deadline_(deadline), pending_(pending) {}
  Status Describe(HttpRequestParts* parts) override {
    parts->method = core::HttpMethod::kGet;
    parts->url = url_;
    parts->deadline = deadline_;
    return {};
  }
  void Finished(HttpResult result) override { pending_->Set(std::move(result)); }

 private:
  std::string url_;
  Duration deadline_;
  Pending* pending_;
};

class DnsTest : public testing::Test {
 protected:
  // The look-ups that hang end here, so that none outlives the process's statics.
  ~DnsTest() override {
    LookUps& state = State();
    std::unique_lock lock(state.mutex);
    state.is_released = true;
    state.changed.notify_all();
    state.changed.wait(lock, [&] { return state.hanging == 0; });
    state.is_released = false;
    state.answered = 0;
  }

  void Submit(std::string_view host, Duration deadline, Pending* pending) {
    client_.Submit(std::make_unique<Get>(fmt::format("http://{}:{}/", host, target_->port()),
                                         deadline, pending));
  }
  void WaitForHangingLookUps(int count) {
    LookUps& state = State();
    std::unique_lock lock(state.mutex);
    ASSERT_TRUE(state.changed.wait_for(lock, absl::ToChronoNanoseconds(kPatience),
                                       [&] { return state.hanging >= count; }));
  }

  std::unique_ptr<HttpTarget> target_ = HttpTarget::Start();
  HttpClient client_{{}};
};

TEST_F(DnsTest, AnUnknownNameIsAFailedConnection) {
  Pending pending;
  Submit(kUnknownName, kPatience, &pending);
  const HttpResult result = pending.Wait();
  EXPECT_EQ(result.kind, Kind::kConnectionFailed);
  EXPECT_THAT(result.message, testing::HasSubstr("unknown.test"));
}

TEST_F(DnsTest, AHangingLookUpHoldsUpNobodyElse) {
  Pending hanging;
  Submit(kHangingName, kPatience, &hanging);
  WaitForHangingLookUps(1);
  for (const std::string_view host : {kLocalName, std::string_view("127.0.0.1")}) {
    Pending pending;
    Submit(host, kPatience, &pending);
    EXPECT_EQ(pending.Wait().http_status, 200) << host;
  }
  client_.Stop(absl::ZeroDuration());
}

TEST_F(DnsTest, AHangingLookUpEndsAtTheDeadline) {
  Pending pending;
  Submit(kHangingName, kShortDeadline, &pending);
  EXPECT_EQ(pending.Wait().kind, Kind::kTimedOut);
  Pending next;
  Submit("127.0.0.1", kPatience, &next);
  EXPECT_EQ(next.Wait().http_status, 200);
  const std::lock_guard lock(State().mutex);
  EXPECT_EQ(State().answered, 0);
}

TEST_F(DnsTest, StopDoesNotWaitForALookUp) {
  Pending pending;
  Submit(kHangingName, kPatience, &pending);
  WaitForHangingLookUps(1);
  client_.Stop(absl::ZeroDuration());
  EXPECT_EQ(client_.counters().abandoned, 1u);
  const std::lock_guard lock(State().mutex);
  EXPECT_EQ(State().answered, 0);
}

}  // namespace
}  // namespace sluice::dispatch
