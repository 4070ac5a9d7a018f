// SPDX-License-Identifier: Apache-2.0

// What v2beta3 adds to v2, and that both versions see one set of queues and tasks.

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "front/tasks/testing/service_fixture.h"
#include "nlohmann/json.hpp"

namespace sluice::front::testing {
namespace {

namespace v2beta3 = google::cloud::tasks::v2beta3;
using ::testing::HasSubstr;

nlohmann::json JsonOf(const google::protobuf::Message& message) {
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text).ok());
  return nlohmann::json::parse(text);
}

constexpr std::int64_t kDay = 24 * 3600;

class ServiceV2Beta3 : public ServiceTest<ApiV2Beta3> {
 protected:
  Outcome<v2beta3::Queue> Get(const std::string& mask = {}) {
    return Invoke(&TasksServiceV2Beta3::GetQueue,
                  fmt::format("name: '{}' read_mask {{ {} }}", kQueue, mask));
  }

  std::vector<std::string> List(const std::string& rest = {}) {
    const auto page =
        Invoke(&TasksServiceV2Beta3::ListQueues, fmt::format("parent: '{}' {}", kLocation, rest));
    EXPECT_TRUE(page.ok()) << page.status;
    std::vector<std::string> ids;
    for (const auto& queue : page->queues()) {
      ids.push_back(queue.name().substr(kLocation.size() + sizeof("/queues/") - 1));
    }
    return ids;
  }

  // The other version over the same engine.
  template <typename Request, typename Response>
  Outcome<Response> InvokeV2(void (TasksServiceV2::*method)(Request&, Response&, Call&),
                             const std::string& text) {
    Request request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    Outcome<Response> outcome;
    RecordedCall call;
    (v2_.*method)(request, outcome.response, call);
    EXPECT_TRUE(call.end.has_value());
    outcome.status = call.end.value_or(absl::OkStatus());
    return outcome;
  }

  TasksServiceV2 v2_{{&engine_, &clock_, nullptr, nullptr}};
};

TEST_F(ServiceV2Beta3, AQueueTellsItsTypeAndRetentionBesideWhatV2Tells) {
  ASSERT_TRUE(InvokeV2(&TasksServiceV2::CreateQueue,
                       fmt::format("parent: '{}' queue {{ name: '{}' "
                                   "rate_limits {{ max_dispatches_per_second: 7 }} "
                                   "retry_config {{ max_attempts: 3 }} }}",
                                   kLocation, kQueue))
                  .ok());
  const auto queue = Get();
  ASSERT_TRUE(queue.ok()) << queue.status;
  EXPECT_EQ(queue->name(), kQueue);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 7);
  EXPECT_EQ(queue->retry_config().max_attempts(), 3);
  EXPECT_EQ(queue->state(), v2beta3::Queue::RUNNING);
  EXPECT_EQ(queue->type(), v2beta3::Queue::PUSH);
  EXPECT_EQ(queue->tombstone_ttl().seconds(), 3600);
  EXPECT_EQ(queue->task_ttl().seconds(), 2'678'400);
  EXPECT_FALSE(queue->has_stats());
}

TEST_F(ServiceV2Beta3, ABurstIsStoredWithinItsBounds) {
  EXPECT_EQ(CreateQueue("a", "rate_limits { max_burst_size: 7 }")->rate_limits().max_burst_size(),
            7);
  EXPECT_TRUE(CreateQueue("b", "rate_limits { max_burst_size: 500 }").ok());
  for (const int burst : {501, -1}) {
    const auto refused =
        CreateQueue("c", fmt::format("rate_limits {{ max_burst_size: {} }}", burst));
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status)) << burst;
    EXPECT_THAT(std::string(Message(refused.status)), HasSubstr("max_burst_size"));
  }
}

TEST_F(ServiceV2Beta3, AnUpdateOfTheRateDerivesTheBurstUnlessItIsGiven) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const std::string burst_path = "paths: 'rate_limits.max_burst_size'";
  const std::string rate_path = "paths: 'rate_limits.max_dispatches_per_second'";
  auto queue = UpdateQueue("rate_limits { max_burst_size: 77 }", burst_path);
  EXPECT_EQ(queue->rate_limits().max_burst_size(), 77);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 500);
  queue = UpdateQueue("rate_limits { max_dispatches_per_second: 100 }", rate_path);
  EXPECT_EQ(queue->rate_limits().max_burst_size(), 20);
  queue = UpdateQueue("rate_limits { max_dispatches_per_second: 50 max_burst_size: 33 }",
                      rate_path + burst_path);
  EXPECT_EQ(queue->rate_limits().max_burst_size(), 33);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 50);
  // What has nothing to do with either keeps both.
  queue = UpdateQueue("retry_config { max_attempts: 2 }", "paths: 'retry_config'");
  EXPECT_EQ(queue->rate_limits().max_burst_size(), 33);
}

TEST_F(ServiceV2Beta3, LifeTimesHaveBounds) {
  const auto create = [this](std::string_view field, std::int64_t seconds) {
    engine_.StartAfresh();
    return CreateQueue("q", fmt::format("{} {{ seconds: {} }}", field, seconds));
  };
  EXPECT_TRUE(absl::IsInvalidArgument(create("task_ttl", 9 * kDay).status));
  EXPECT_TRUE(absl::IsInvalidArgument(create("task_ttl", 3654 * kDay).status));
  EXPECT_EQ(create("task_ttl", 10 * kDay)->task_ttl().seconds(), 10 * kDay);
  EXPECT_TRUE(absl::IsInvalidArgument(create("tombstone_ttl", 59 * 60).status));
  EXPECT_TRUE(absl::IsInvalidArgument(create("tombstone_ttl", 10 * kDay).status));
  EXPECT_TRUE(absl::IsInvalidArgument(create("tombstone_ttl", -1).status));
  EXPECT_EQ(create("tombstone_ttl", 9 * kDay)->tombstone_ttl().seconds(), 9 * kDay);
}

TEST_F(ServiceV2Beta3, TheTombstoneTtlSaysHowLongAUsedNameStaysTaken) {
  ASSERT_TRUE(CreateQueue("q", "tombstone_ttl { seconds: 7200 }").ok());
  ASSERT_TRUE(CreateTask(TaskNameField("t") + " schedule_time { seconds: 2000000900 }").ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2Beta3::DeleteTask, TaskNameField("t")).ok());
  engine_.harness().RunFor(absl::Seconds(7199));
  EXPECT_TRUE(absl::IsAlreadyExists(CreateTask(TaskNameField("t")).status));
  engine_.harness().RunFor(absl::Seconds(1));
  EXPECT_TRUE(CreateTask(TaskNameField("t")).ok());
}

TEST_F(ServiceV2Beta3, TheTaskTtlEndsATaskThatWasNeverSent) {
  ASSERT_TRUE(CreateQueue("q", fmt::format("task_ttl {{ seconds: {} }}", 10 * kDay)).ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2Beta3::PauseQueue, fmt::format("name: '{}'", kQueue)).ok());
  ASSERT_TRUE(CreateTask(TaskNameField("t")).ok());
  engine_.harness().RunFor(absl::Hours(239));
  EXPECT_TRUE(Invoke(&TasksServiceV2Beta3::GetTask, TaskNameField("t")).ok());
  engine_.harness().RunFor(absl::Hours(1));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2Beta3::GetTask, TaskNameField("t")).status));
}

TEST_F(ServiceV2Beta3, AnUpdateByV2LeavesTheLifeTimesAlone) {
  ASSERT_TRUE(CreateQueue("q", fmt::format("task_ttl {{ seconds: {} }} "
                                           "tombstone_ttl {{ seconds: 7200 }}",
                                           20 * kDay))
                  .ok());
  ASSERT_TRUE(
      InvokeV2(&TasksServiceV2::UpdateQueue, fmt::format("queue {{ name: '{}' }}", kQueue)).ok());
  const auto queue = Get();
  EXPECT_EQ(queue->task_ttl().seconds(), 20 * kDay);
  EXPECT_EQ(queue->tombstone_ttl().seconds(), 7200);
  // The same update by v2beta3 means all that v2beta3 knows.
  ASSERT_TRUE(
      Invoke(&TasksServiceV2Beta3::UpdateQueue, fmt::format("queue {{ name: '{}' }}", kQueue))
          .ok());
  EXPECT_EQ(Get()->task_ttl().seconds(), 2'678'400);
  EXPECT_EQ(Get()->tombstone_ttl().seconds(), 3600);
}

TEST_F(ServiceV2Beta3, PullQueuesAreRefusedByName) {
  EXPECT_TRUE(CreateQueue("a", "type: PUSH").ok());
  for (const auto& refused :
       {CreateQueue("b", "type: PULL"), UpdateQueue("type: PULL", "paths: 'type'")}) {
    EXPECT_TRUE(absl::IsUnimplemented(refused.status)) << refused.status;
    EXPECT_THAT(std::string(Message(refused.status)), HasSubstr("queue.type"));
  }
}

TEST_F(ServiceV2Beta3, AReadMaskPicksFieldsInEitherSpelling) {
  ASSERT_TRUE(CreateQueue("q").ok());
  for (const std::string paths :
       {"paths: 'name' paths: 'tombstone_ttl' paths: 'rate_limits.max_burst_size'",
        "paths: 'name' paths: 'tombstoneTtl' paths: 'rateLimits.maxBurstSize'"}) {
    const auto queue = Get(paths);
    ASSERT_TRUE(queue.ok()) << queue.status;
    EXPECT_EQ(queue->name(), kQueue);
    EXPECT_TRUE(queue->has_tombstone_ttl()) << paths;
    EXPECT_FALSE(queue->has_task_ttl());
    EXPECT_EQ(queue->rate_limits().max_burst_size(), 100);
    EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 0);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Get("paths: 'nonsense'").status));
}

TEST_F(ServiceV2Beta3, StatsAreShownWhenAskedFor) {
  ASSERT_TRUE(CreateQueue("q", "rate_limits { max_dispatches_per_second: 5 }").ok());
  ASSERT_TRUE(CreateTask().ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(CreateTask("schedule_time { seconds: 2000000900 }").ok());
  }
  auto stats = Get("paths: 'stats'")->stats();
  EXPECT_EQ(stats.tasks_count(), 3);
  EXPECT_EQ(stats.concurrent_dispatches_count(), 1);
  EXPECT_EQ(stats.executed_last_minute_count(), 0);
  EXPECT_EQ(stats.oldest_estimated_arrival_time().seconds(), 2'000'000'900);
  EXPECT_EQ(stats.effective_execution_rate(), 5);
  EXPECT_TRUE(Get("paths: 'stats'")->name().empty());
  EXPECT_TRUE(Get("paths: '*'")->has_stats());
  EXPECT_FALSE(Get()->has_stats());
  EXPECT_EQ(Get("paths: 'stats.tasksCount'")->stats().concurrent_dispatches_count(), 0);
}

TEST_F(ServiceV2Beta3, AListingFiltersAndShowsStats) {
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(CreateQueue(id).ok());
  ASSERT_TRUE(CreateQueue("q").ok());
  ASSERT_TRUE(CreateTask("schedule_time { seconds: 2000000900 }").ok());
  ASSERT_TRUE(
      Invoke(&TasksServiceV2Beta3::PauseQueue, fmt::format("name: '{}/queues/b'", kLocation)).ok());
  EXPECT_EQ(List("filter: 'state=PAUSED'"), std::vector<std::string>{"b"});
  EXPECT_EQ(List("filter: 'stats.tasksCount>0'"), std::vector<std::string>{"q"});
  EXPECT_EQ(List("filter: 'tombstone_ttl=3600s state=RUNNING name:\"queues/a\"'"),
            std::vector<std::string>{"a"});
  const auto page = Invoke(&TasksServiceV2Beta3::ListQueues,
                           fmt::format("parent: '{}' read_mask {{ paths: 'name' paths: 'stats' }} "
                                       "page_size: 3",
                                       kLocation));
  ASSERT_TRUE(page.ok()) << page.status;
  ASSERT_EQ(page->queues_size(), 3);
  EXPECT_FALSE(page->next_page_token().empty());
  EXPECT_TRUE(page->queues(0).has_stats());
  EXPECT_FALSE(page->queues(0).has_rate_limits());
}

TEST_F(ServiceV2Beta3, EachVersionReadsTheOthersTasks) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const std::string later = " schedule_time { seconds: 2000000900 nanos: 5000 }";
  const std::string target = "http_method: PUT body: 'b' headers { key: 'K' value: 'v' }";
  ASSERT_TRUE(CreateTask(TaskNameField("beta") + later +
                             " dispatch_deadline { seconds: 20 } retry_config { max_attempts: 2 }",
                         target)
                  .ok());
  ASSERT_TRUE(InvokeV2(&TasksServiceV2::CreateTask,
                       fmt::format("parent: '{}' task {{ {} {} dispatch_deadline {{ seconds: 20 }} "
                                   "retry_config {{ max_attempts: 2 }} "
                                   "http_request {{ url: 'http://h/' {} }} }}",
                                   kQueue, TaskNameField("v2"), later, target))
                  .ok());
  for (const std::string id : {"beta", "v2"}) {
    const std::string request = TaskNameField(id) + " response_view: FULL";
    const auto as_v2 = InvokeV2(&TasksServiceV2::GetTask, request);
    const auto as_beta = Invoke(&TasksServiceV2Beta3::GetTask, request);
    ASSERT_TRUE(as_v2.ok() && as_beta.ok()) << as_v2.status << as_beta.status;
    // The versions differ in numbers, not in names.
    EXPECT_EQ(JsonOf(as_v2.response), JsonOf(as_beta.response));
    EXPECT_EQ(as_beta->http_request().body(), "b");
    EXPECT_EQ(as_beta->retry_config().max_attempts(), 2);
    EXPECT_EQ(as_beta->schedule_time().nanos(), 5000);
  }
}

TEST_F(ServiceV2Beta3, PullTasksAndUnsetTargetsAreRefused) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto create = [this](const std::string& task) {
    return Invoke(&TasksServiceV2Beta3::CreateTask,
                  fmt::format("parent: '{}' task {{ {} }}", kQueue, task));
  };
  const auto pull = create("pull_message { payload: 'x' }");
  EXPECT_TRUE(absl::IsInvalidArgument(pull.status));
  EXPECT_THAT(std::string(Message(pull.status)), HasSubstr("pull_message"));
  EXPECT_THAT(std::string(Message(create("").status)), HasSubstr("payload_type"));
}

TEST_F(ServiceV2Beta3, APageTokenBelongsToItsVersion) {
  for (const char* id : {"a", "b"}) ASSERT_TRUE(CreateQueue(id).ok());
  const auto page =
      InvokeV2(&TasksServiceV2::ListQueues, fmt::format("parent: '{}' page_size: 1", kLocation));
  const auto next =
      Invoke(&TasksServiceV2Beta3::ListQueues,
             fmt::format("parent: '{}' page_token: '{}'", kLocation, page->next_page_token()));
  EXPECT_TRUE(absl::IsInvalidArgument(next.status)) << next.status;
}

}  // namespace
}  // namespace sluice::front::testing
