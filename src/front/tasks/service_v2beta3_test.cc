// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/service_v2beta3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "front/tasks/testing/service_fixture.h"

namespace sluice::front::testing {
namespace {

namespace v2beta3 = google::cloud::tasks::v2beta3;
using ::testing::HasSubstr;

class ServiceV2Beta3 : public ServiceV2Test {
 protected:
  Outcome<v2beta3::Queue> Get(std::string_view name, std::vector<std::string> mask = {}) {
    v2beta3::GetQueueRequest request;
    request.set_name(std::string(name));
    for (std::string& path : mask) request.mutable_read_mask()->add_paths(std::move(path));
    Outcome<v2beta3::Queue> outcome;
    RecordedCall call;
    beta_.GetQueue(request, outcome.response, call);
    EXPECT_TRUE(call.end.has_value());
    outcome.status = call.end.value_or(absl::OkStatus());
    return outcome;
  }

  TasksServiceV2Beta3 beta_{&engine_, nullptr, nullptr};
};

TEST_F(ServiceV2Beta3, AQueueTellsItsRetentionBesideWhatV2Tells) {
  ASSERT_TRUE(CreateQueue("q",
                          "rate_limits { max_dispatches_per_second: 7 } "
                          "retry_config { max_attempts: 3 min_backoff { seconds: 2 } }")
                  .ok());
  const auto queue = Get(kQueue);
  ASSERT_TRUE(queue.ok()) << queue.status;
  EXPECT_EQ(queue->name(), kQueue);
  EXPECT_EQ(queue->rate_limits().max_dispatches_per_second(), 7);
  EXPECT_EQ(queue->retry_config().max_attempts(), 3);
  EXPECT_EQ(queue->retry_config().min_backoff().seconds(), 2);
  EXPECT_EQ(queue->state(), v2beta3::Queue::RUNNING);
  EXPECT_EQ(queue->type(), v2beta3::Queue::PUSH);
  EXPECT_EQ(queue->tombstone_ttl().seconds(), absl::ToInt64Seconds(core::kTombstoneTtlDefault));
  EXPECT_EQ(queue->task_ttl().seconds(), absl::ToInt64Seconds(core::kTaskTtlDefault));
}

TEST_F(ServiceV2Beta3, AReadMaskPicksFields) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto queue = Get(kQueue, {"name", "tombstone_ttl"});
  ASSERT_TRUE(queue.ok()) << queue.status;
  EXPECT_EQ(queue->name(), kQueue);
  EXPECT_TRUE(queue->has_tombstone_ttl());
  EXPECT_FALSE(queue->has_task_ttl());
  EXPECT_FALSE(queue->has_rate_limits());
}

TEST_F(ServiceV2Beta3, WhatCannotBeAnsweredIsRefusedByName) {
  ASSERT_TRUE(CreateQueue("q").ok());
  const auto stats = Get(kQueue, {"stats"});
  EXPECT_TRUE(absl::IsUnimplemented(stats.status)) << stats.status;
  EXPECT_THAT(std::string(Message(stats.status)), HasSubstr("stats"));
  EXPECT_TRUE(absl::IsInvalidArgument(Get(kQueue, {"nonsense"}).status));
  EXPECT_TRUE(absl::IsNotFound(Get(std::string(kQueue) + "x").status));
  EXPECT_TRUE(absl::IsInvalidArgument(Get("queues/q").status));
}

}  // namespace
}  // namespace sluice::front::testing
