// SPDX-License-Identifier: Apache-2.0

// How calls travel through the service: gate, observer, cancellation, failures of
// the engine.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "front/tasks/testing/service_fixture.h"

namespace sluice::front::testing {
namespace {

// Keeps what a call waits for, so that a test decides.
class HeldGate final : public CallGate {
 public:
  void Before(const CallInfo& call, Continue proceed) override {
    log.push_back(fmt::format("before {} {}", call.method->name, call.resource));
    if (is_open) return proceed(absl::OkStatus());
    waiting = std::move(proceed);
  }
  void After(const CallInfo& call, const Status& result, Continue finish) override {
    log.push_back(fmt::format("after {} {}", call.method->name, static_cast<int>(result.code())));
    if (is_open) return finish(absl::OkStatus());
    waiting = std::move(finish);
  }
  void Let(Status status) { std::exchange(waiting, nullptr)(std::move(status)); }

  std::vector<std::string> log;
  Continue waiting;
  bool is_open = false;
};

class CountingObserver final : public CallObserver {
 public:
  std::uint64_t Started(const Method& method) override {
    log.push_back(fmt::format("started {}", method.name));
    return 42;
  }
  void Finished(const Method& method, std::uint64_t started, absl::StatusCode code) override {
    log.push_back(fmt::format("finished {} {} {}", method.name, started, static_cast<int>(code)));
  }

  std::vector<std::string> log;
};

class ServiceV2Calls : public ServiceV2Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateQueue("q").ok());
    request_.set_parent(std::string(kQueue));
    request_.mutable_task()->mutable_http_request()->set_url("http://h/");
  }

  std::size_t TaskCount() {
    return static_cast<std::size_t>(
        Invoke(&TasksServiceV2::ListTasks, fmt::format("parent: '{}'", kQueue))->tasks_size());
  }

  HeldGate gate_;
  CountingObserver observer_;
  TasksServiceV2 gated_{{&engine_, &clock_, &gate_, &observer_}};
  v2::CreateTaskRequest request_;
  v2::Task response_;
  RecordedCall call_;
};

TEST_F(ServiceV2Calls, GateAndObserverSeeEveryCall) {
  gate_.is_open = true;
  gated_.CreateTask(request_, response_, call_);
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(call_.end->ok());
  EXPECT_EQ(gate_.log, (std::vector<std::string>{"before CreateTask " + std::string(kQueue),
                                                 "after CreateTask 0"}));
  EXPECT_EQ(observer_.log,
            (std::vector<std::string>{"started CreateTask", "finished CreateTask 42 0"}));
}

TEST_F(ServiceV2Calls, AGateBeforeHoldsTheWorkBack) {
  gated_.CreateTask(request_, response_, call_);
  EXPECT_EQ(TaskCount(), 0u);
  EXPECT_FALSE(call_.end.has_value());
  gate_.is_open = true;
  gate_.Let(absl::OkStatus());
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(call_.end->ok());
  EXPECT_EQ(TaskCount(), 1u);
}

TEST_F(ServiceV2Calls, AFailureBeforeLeavesNoTrace) {
  gated_.CreateTask(request_, response_, call_);
  gate_.Let(Unavailable("injected"));
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*call_.end));
  EXPECT_EQ(TaskCount(), 0u);
  EXPECT_EQ(observer_.log.back(), "finished CreateTask 42 14");
}

TEST_F(ServiceV2Calls, AFailureAfterHidesWorkThatStands) {
  gated_.CreateTask(request_, response_, call_);
  gate_.Let(absl::OkStatus());
  EXPECT_EQ(TaskCount(), 1u);
  EXPECT_FALSE(call_.end.has_value());
  gate_.Let(DropCall());
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(IsDropCall(*call_.end));
}

TEST_F(ServiceV2Calls, AGateAfterSeesFailuresToo) {
  gate_.is_open = true;
  request_.mutable_task()->clear_http_request();
  gated_.CreateTask(request_, response_, call_);
  EXPECT_TRUE(absl::IsInvalidArgument(*call_.end));
  EXPECT_EQ(gate_.log.back(), "after CreateTask 3");
}

TEST_F(ServiceV2Calls, ACallWhoseClientIsGoneIsNotCarriedOut) {
  call_.is_cancelled = true;
  service_.CreateTask(request_, response_, call_);
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(absl::IsCancelled(*call_.end));
  EXPECT_FALSE(IsDropCall(*call_.end));
  EXPECT_EQ(TaskCount(), 0u);
}

TEST_F(ServiceV2Calls, ACancellationAfterTheHandoverChangesNothing) {
  engine_.HoldReplies();
  service_.CreateTask(request_, response_, call_);
  call_.is_cancelled = true;
  engine_.ReleaseReplies();
  ASSERT_TRUE(call_.end.has_value());
  EXPECT_TRUE(call_.end->ok());
  EXPECT_EQ(TaskCount(), 1u);
}

TEST_F(ServiceV2Calls, NothingIsAnsweredBeforeTheEngineAnswers) {
  engine_.HoldReplies();
  service_.CreateTask(request_, response_, call_);
  EXPECT_FALSE(call_.end.has_value());
  engine_.ReleaseReplies();
  EXPECT_TRUE(call_.end.has_value());
}

TEST_F(ServiceV2Calls, FailuresOfTheEngineReachTheClient) {
  engine_.FailNext(ResourceExhausted("the inbox is full"));
  service_.CreateTask(request_, response_, call_);
  EXPECT_TRUE(absl::IsResourceExhausted(*call_.end));
  EXPECT_EQ(Message(*call_.end), "the inbox is full");
}

TEST_F(ServiceV2Calls, LargeStringsAreMovedNotCopied) {
  std::string body(100'000, 'b');
  const char* const bytes = body.data();
  request_.mutable_task()->mutable_http_request()->set_body(std::move(body));
  ASSERT_EQ(request_.task().http_request().body().data(), bytes);
  service_.CreateTask(request_, response_, call_);
  ASSERT_TRUE(call_.end->ok());
  // Still the same allocation, now in the ledger.
  const auto& queues = engine_.harness().ledger().queues();
  const core::Task& stored = queues.begin()->second.tasks.begin()->second;
  EXPECT_EQ(stored.body->request.body.data(), bytes);
}

}  // namespace
}  // namespace sluice::front::testing
