// SPDX-License-Identifier: Apache-2.0

// The queue methods of v2 over the real state machine. Numbers in brackets are
// those of the acceptance list, ../shared/spec: cloud tasks section 9.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "front/errors.h"
#include "front/tasks/testing/service_fixture.h"
#include "google/rpc/error_details.pb.h"

namespace sluice::front::testing {
namespace {

class ServiceV2Queues : public ServiceV2Test {
 protected:
  Outcome<v2::ListQueuesResponse> List(const std::string& rest = {}) {
    return Invoke(&TasksServiceV2::ListQueues, fmt::format("parent: '{}' {}", kLocation, rest));
  }

  Outcome<v2::ListQueuesResponse> ListPage(const std::string& rest, const std::string& token) {
    return List(fmt::format("{} page_token: '{}'", rest, token));
  }

  static std::vector<std::string> IdsOf(const v2::ListQueuesResponse& response) {
    std::vector<std::string> ids;
    for (const v2::Queue& queue : response.queues()) {
      ids.push_back(queue.name().substr(queue.name().rfind('/') + 1));
    }
    return ids;
  }

  const std::string name_field_ = fmt::format("name: '{}'", kQueue);
};

using Ids = std::vector<std::string>;

TEST_F(ServiceV2Queues, AQueueWithOnlyANameHasTheDefaults) {  // [1]
  const auto created = CreateQueue("q");
  ASSERT_TRUE(created.ok()) << Message(created.status);
  EXPECT_EQ(created->name(), kQueue);
  EXPECT_EQ(created->state(), v2::Queue::RUNNING);
  EXPECT_EQ(created->rate_limits().max_dispatches_per_second(), 500);
  EXPECT_EQ(created->rate_limits().max_burst_size(), 100);
  EXPECT_EQ(created->rate_limits().max_concurrent_dispatches(), 1000);
  EXPECT_EQ(created->retry_config().max_attempts(), 100);
  EXPECT_EQ(created->retry_config().min_backoff().nanos(), 100'000'000);
  EXPECT_EQ(created->retry_config().max_backoff().seconds(), 3600);
  EXPECT_EQ(created->retry_config().max_doublings(), 16);
  EXPECT_FALSE(created->retry_config().has_max_retry_duration());
  EXPECT_FALSE(created->has_purge_time());
}

TEST_F(ServiceV2Queues, ANameIsGivenOnce) {  // [2]
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto again = CreateQueue("q");
  EXPECT_TRUE(absl::IsAlreadyExists(again.status));
  google::rpc::ResourceInfo info;
  ASSERT_EQ(ToRpcStatus(again.status).details_size(), 1);
  ASSERT_TRUE(ToRpcStatus(again.status).details(0).UnpackTo(&info));
  EXPECT_EQ(info.resource_type(), "cloudtasks.googleapis.com/Queue");
  EXPECT_EQ(info.resource_name(), kQueue);
}

TEST_F(ServiceV2Queues, NamesAreCheckedWhole) {  // [3] [4] [5] [6]
  EXPECT_TRUE(CreateQueue(std::string(100, 'a')).ok());
  for (const std::string& id : {std::string("a_b"), std::string(), std::string(101, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CreateQueue(id).status)) << id;
  }
  const auto create = [this](const std::string& parent, const std::string& name) {
    return Invoke(&TasksServiceV2::CreateQueue,
                  fmt::format("parent: '{}' queue {{ name: '{}' }}", parent, name))
        .status;
  };
  const std::string location(kLocation);
  EXPECT_TRUE(absl::IsInvalidArgument(create(location, "x" + location + "/queues/q")));
  EXPECT_TRUE(absl::IsInvalidArgument(create(location, location + "/queues/q/x")));
  EXPECT_TRUE(absl::IsInvalidArgument(create("projects/p/locations/m", location + "/queues/q")));
  EXPECT_TRUE(absl::IsInvalidArgument(create("projects/p", location + "/queues/q")));
  EXPECT_TRUE(absl::IsInvalidArgument(create(location, "")));
  EXPECT_TRUE(create("projects/example.com:proj-1/locations/l",
                     "projects/example.com:proj-1/locations/l/queues/q")
                  .ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      Invoke(&TasksServiceV2::CreateQueue, fmt::format("parent: '{}'", kLocation)).status));
}

TEST_F(ServiceV2Queues, AWrongNameComesWithAHelpLink) {
  const google::rpc::Status status = ToRpcStatus(CreateQueue("a_b").status);
  google::rpc::Help help;
  google::rpc::BadRequest bad_request;
  ASSERT_EQ(status.details_size(), 2);
  ASSERT_TRUE(status.details(0).UnpackTo(&bad_request));
  ASSERT_TRUE(status.details(1).UnpackTo(&help));
  EXPECT_EQ(bad_request.field_violations(0).field(), "queue.name");
  EXPECT_NE(help.links(0).url().find("Queue.FIELDS.name"), std::string::npos);
}

TEST_F(ServiceV2Queues, TheBurstFollowsTheRate) {  // [7] [12]
  const auto burst = [this](const std::string& id, const std::string& rate) {
    return CreateQueue(id, "rate_limits { " + rate + " }")->rate_limits().max_burst_size();
  };
  EXPECT_EQ(burst("a", "max_dispatches_per_second: 0.25"), 10);
  EXPECT_EQ(burst("b", "max_dispatches_per_second: 1"), 10);
  EXPECT_EQ(burst("c", "max_dispatches_per_second: 5"), 10);
  EXPECT_EQ(burst("d", "max_dispatches_per_second: 500"), 100);
  EXPECT_EQ(burst("e", "max_burst_size: 7"), 100);
  EXPECT_EQ(burst("f", "max_burst_size: -1"), 100);
}

TEST_F(ServiceV2Queues, SettingsOutOfBoundsAreRefused) {  // [8] [9] [10] [11] [15]
  for (const char* settings :
       {"rate_limits { max_dispatches_per_second: -1 }",
        "rate_limits { max_dispatches_per_second: 500.1 }",
        "rate_limits { max_concurrent_dispatches: -1 }",
        "rate_limits { max_concurrent_dispatches: 5001 }", "retry_config { max_attempts: -2 }",
        "retry_config { max_doublings: -1 }", "retry_config { min_backoff { seconds: -1 } }",
        "retry_config { min_backoff { seconds: 10 } max_backoff { seconds: 5 } }",
        "retry_config { max_backoff { nanos: 50000000 } }",
        "stackdriver_logging_config { sampling_ratio: 1.5 }"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CreateQueue("q", settings).status)) << settings;
  }
  const auto created = CreateQueue(
      "q",
      "rate_limits { max_dispatches_per_second: 500 max_concurrent_dispatches: 5000 } "
      "retry_config { max_attempts: -1 } stackdriver_logging_config { sampling_ratio: 0.5 }");
  ASSERT_TRUE(created.ok()) << Message(created.status);
  EXPECT_EQ(created->retry_config().max_attempts(), -1);
  EXPECT_EQ(created->stackdriver_logging_config().sampling_ratio(), 0.5);
}

TEST_F(ServiceV2Queues, OutputOnlyFieldsAreIgnored) {  // [14]
  const auto created = CreateQueue("q", "state: PAUSED purge_time { seconds: 1 }");
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->state(), v2::Queue::RUNNING);
  EXPECT_FALSE(created->has_purge_time());
}

TEST_F(ServiceV2Queues, ADeletedQueueIsGone) {  // [20] [23]
  ASSERT_TRUE(CreateQueue("q").ok());
  EXPECT_TRUE(Invoke(&TasksServiceV2::DeleteQueue, name_field_).ok());
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::GetQueue, name_field_).status));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::DeleteQueue, name_field_).status));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::PauseQueue, name_field_).status));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::ResumeQueue, name_field_).status));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::PurgeQueue, name_field_).status));
  EXPECT_TRUE(absl::IsNotFound(CreateTask().status));
  EXPECT_TRUE(CreateQueue("q").ok());  // [21], window 0
}

TEST_F(ServiceV2Queues, MalformedNamesAreRefusedEverywhere) {
  const std::string bad = "name: 'projects/p/queues/q'";
  EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::GetQueue, bad).status));
  EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::DeleteQueue, bad).status));
  EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::PauseQueue, bad).status));
  EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::ResumeQueue, bad).status));
  EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::PurgeQueue, bad).status));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Invoke(&TasksServiceV2::ListQueues, "parent: 'projects/p'").status));
  EXPECT_EQ(engine_.command_count(), 0u);
}

TEST_F(ServiceV2Queues, ListsAreInNameOrderAndOfOneLocation) {  // [24]
  for (const char* id : {"z", "a", "m"}) ASSERT_TRUE(CreateQueue(id).ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2::CreateQueue,
                     std::string("parent: 'projects/p/locations/other' queue { name: "
                                 "'projects/p/locations/other/queues/b' }"))
                  .ok());
  const auto list = List();
  EXPECT_EQ(IdsOf(list.response), (Ids{"a", "m", "z"}));
  EXPECT_EQ(list->next_page_token(), "");
}

TEST_F(ServiceV2Queues, PagesFollowEachOtherWithoutGaps) {  // [25] [29]
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(CreateQueue(id).ok());
  const auto first = List("page_size: 2");
  EXPECT_EQ(IdsOf(first.response), (Ids{"a", "b"}));
  ASSERT_NE(first->next_page_token(), "");
  engine_.harness().Restart();
  const auto second = ListPage("page_size: 2", first->next_page_token());
  EXPECT_EQ(IdsOf(second.response), (Ids{"c"}));
  EXPECT_EQ(second->next_page_token(), "");
  EXPECT_EQ(List("page_size: 3")->next_page_token(), "");
}

TEST_F(ServiceV2Queues, PageSizesAreClampedOrRefused) {  // [26]
  ASSERT_TRUE(CreateQueue("a").ok());
  EXPECT_EQ(List("page_size: 20000")->queues_size(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(List("page_size: -1").status));
}

TEST_F(ServiceV2Queues, AFilterSelects) {  // [27]
  for (const char* id : {"a", "b", "q"}) ASSERT_TRUE(CreateQueue(id).ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2::PauseQueue, name_field_).ok());
  EXPECT_EQ(IdsOf(List("filter: 'state: PAUSED'").response), (Ids{"q"}));
  EXPECT_EQ(IdsOf(List("filter: 'NOT state: PAUSED'").response), (Ids{"a", "b"}));
  EXPECT_TRUE(absl::IsInvalidArgument(List("filter: 'state PAUSED'").status));
}

TEST_F(ServiceV2Queues, FilteredPagesFollowEachOther) {
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(CreateQueue(id).ok());
  const std::string request = "page_size: 1 filter: 'name:b OR name:d'";
  // "queues" has no b or d, and neither has the location.
  const auto first = List(request);
  EXPECT_EQ(IdsOf(first.response), (Ids{"b"}));
  const auto second = ListPage(request, first->next_page_token());
  EXPECT_EQ(IdsOf(second.response), (Ids{"d"}));
  EXPECT_EQ(second->next_page_token(), "");
}

TEST_F(ServiceV2Queues, ATokenBelongsToItsListing) {  // [28]
  for (const char* id : {"a", "b"}) ASSERT_TRUE(CreateQueue(id).ok());
  const std::string token = List("page_size: 1")->next_page_token();
  EXPECT_TRUE(ListPage("page_size: 1", token).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ListPage("filter: 'state:PAUSED'", token).status));
  EXPECT_TRUE(absl::IsInvalidArgument(ListPage("", "garbled").status));
  engine_.harness().RunFor(absl::Hours(3));
  EXPECT_TRUE(absl::IsInvalidArgument(ListPage("page_size: 1", token).status));
}

TEST_F(ServiceV2Queues, AnUpdateCreatesAMissingQueue) {  // [32]
  const auto queue = UpdateQueue("rate_limits { max_dispatches_per_second: 10 }", "");
  ASSERT_TRUE(queue.ok()) << Message(queue.status);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 10);
  EXPECT_EQ(queue->retry_config().max_attempts(), 100);
  EXPECT_EQ(queue->state(), v2::Queue::RUNNING);
}

TEST_F(ServiceV2Queues, AMaskKeepsWhatItDoesNotName) {  // [33] [34]
  ASSERT_TRUE(CreateQueue("q", "retry_config { max_attempts: 9 max_doublings: 3 }").ok());
  auto queue = UpdateQueue("rate_limits { max_dispatches_per_second: 10 }",
                           "paths: 'rateLimits.maxDispatchesPerSecond'");
  ASSERT_TRUE(queue.ok()) << Message(queue.status);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 10);
  EXPECT_EQ(queue->rate_limits().max_burst_size(), 10);
  EXPECT_EQ(queue->retry_config().max_attempts(), 9);
  queue = UpdateQueue("retry_config { max_attempts: 5 }", "paths: 'retry_config.max_attempts'");
  EXPECT_EQ(queue->retry_config().max_attempts(), 5);
  EXPECT_EQ(queue->retry_config().max_doublings(), 3);
}

TEST_F(ServiceV2Queues, AnEmptyMaskReplacesEverything) {
  ASSERT_TRUE(CreateQueue("q",
                          "retry_config { max_attempts: 9 } "
                          "stackdriver_logging_config { sampling_ratio: 1 }")
                  .ok());
  for (const char* mask : {"", "paths: '*'"}) {
    const auto queue = UpdateQueue("rate_limits { max_concurrent_dispatches: 3 }", mask);
    ASSERT_TRUE(queue.ok()) << Message(queue.status);
    EXPECT_EQ(queue->rate_limits().max_concurrent_dispatches(), 3);
    EXPECT_EQ(queue->retry_config().max_attempts(), 100);
    EXPECT_FALSE(queue->has_stackdriver_logging_config());
  }
}

TEST_F(ServiceV2Queues, AClearedLeafReturnsToItsDefault) {  // [35]
  ASSERT_TRUE(CreateQueue("q", "retry_config { max_attempts: 9 max_doublings: 3 }").ok());
  const auto queue = UpdateQueue("", "paths: 'retryConfig.maxAttempts'");
  EXPECT_EQ(queue->retry_config().max_attempts(), 100);
  EXPECT_EQ(queue->retry_config().max_doublings(), 3);
}

TEST_F(ServiceV2Queues, AMaskMayNameWhatCannotChange) {  // [36]
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto queue = UpdateQueue("state: PAUSED purge_time { seconds: 1 }",
                                 "paths: 'state' paths: 'purgeTime' paths: 'name'");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->state(), v2::Queue::RUNNING);
  EXPECT_FALSE(queue->has_purge_time());
  EXPECT_TRUE(absl::IsInvalidArgument(UpdateQueue("", "paths: 'colour'").status));
}

TEST_F(ServiceV2Queues, TargetsOfAQueueAreStoredMaskedAndCleared) {  // [18] [19] [37] [39]
  ASSERT_TRUE(CreateQueue("q",
                          "http_target { uri_override { host: 'h' port: 0 } oidc_token { "
                          "service_account_email: 'a@b' audience: 'x' } } "
                          "app_engine_routing_override { service: 's' }")
                  .ok());
  const auto cleared = UpdateQueue("app_engine_routing_override {}",
                                   "paths: 'appEngineRoutingOverride' "
                                   "paths: 'httpTarget.oidcToken.serviceAccountEmail' "
                                   "paths: 'httpTarget.oidcToken.audience'");
  ASSERT_TRUE(cleared.ok()) << cleared.status;
  EXPECT_FALSE(cleared->has_app_engine_routing_override());
  EXPECT_EQ(cleared->http_target().uri_override().host(), "h");
  EXPECT_FALSE(cleared->http_target().has_oidc_token());
  EXPECT_EQ(Invoke(&TasksServiceV2::GetQueue, name_field_)->ShortDebugString(),
            cleared->ShortDebugString());
  for (const char* refused :
       {"uri_override { host: '' }", "uri_override { port: -1 }", "oidc_token { audience: 'x' }",
        "oidc_token { service_account_email: 'a@b' }"}) {
    const auto queue = CreateQueue("r", fmt::format("http_target {{ {} }}", refused));
    EXPECT_TRUE(absl::IsInvalidArgument(queue.status)) << refused;
  }
}

TEST_F(ServiceV2Queues, PausingAndResumingAreIdempotent) {  // [43] [44] [45]
  ASSERT_TRUE(CreateQueue("q").ok());
  EXPECT_EQ(Invoke(&TasksServiceV2::PauseQueue, name_field_)->state(), v2::Queue::PAUSED);
  EXPECT_EQ(Invoke(&TasksServiceV2::PauseQueue, name_field_)->state(), v2::Queue::PAUSED);
  ASSERT_TRUE(CreateTask().ok());
  EXPECT_TRUE(engine_.harness().open().empty());
  EXPECT_EQ(Invoke(&TasksServiceV2::ResumeQueue, name_field_)->state(), v2::Queue::RUNNING);
  EXPECT_EQ(Invoke(&TasksServiceV2::ResumeQueue, name_field_)->state(), v2::Queue::RUNNING);
  EXPECT_EQ(engine_.harness().open().size(), 1u);
}

TEST_F(ServiceV2Queues, PurgingShowsItsTimeAndEmptiesTheQueue) {  // [47]
  ASSERT_TRUE(CreateQueue("q").ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2::PauseQueue, name_field_).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(CreateTask().ok());
  const auto purged = Invoke(&TasksServiceV2::PurgeQueue, name_field_);
  ASSERT_TRUE(purged.ok());
  EXPECT_TRUE(purged->has_purge_time());
  ASSERT_TRUE(CreateTask().ok());
  EXPECT_EQ(Invoke(&TasksServiceV2::ListTasks, fmt::format("parent: '{}'", kQueue))->tasks_size(),
            1);
}

}  // namespace
}  // namespace sluice::front::testing
