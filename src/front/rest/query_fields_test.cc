// SPDX-License-Identifier: Apache-2.0
#include "front/rest/query_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/cloud/tasks/v2/cloudtasks.pb.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;
using testing::HasSubstr;

TEST(QueryFields, AQueryIsSplitAndDecoded) {
  const auto parsed = ParseQuery("a=1&b=x%20y+z&&c&d=%3D");
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 4u);
  EXPECT_EQ((*parsed)[1].value, "x y z");
  EXPECT_EQ((*parsed)[2].name, "c");
  EXPECT_EQ((*parsed)[2].value, "");
  EXPECT_EQ((*parsed)[3].value, "=");
  EXPECT_TRUE(absl::IsInvalidArgument(ParseQuery("a=%4").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseQuery("%ff=1").status()));  // no UTF-8
  EXPECT_TRUE(absl::IsInvalidArgument(ParseQuery("a=\xc3(").status()));
}

TEST(QueryFields, NamesOfTheProtoAndOfJsonReachTheSameField) {
  for (const char* name : {"page_size", "pageSize"}) {
    v2::ListTasksRequest request;
    ASSERT_TRUE(SetFieldFromText(&request, name, "7").ok());
    EXPECT_EQ(request.page_size(), 7);
  }
}

TEST(QueryFields, EachTypeIsReadAsItIsWritten) {
  v2::ListTasksRequest list;
  ASSERT_TRUE(SetFieldFromText(&list, "responseView", "FULL").ok());
  EXPECT_EQ(list.response_view(), v2::Task::FULL);
  ASSERT_TRUE(SetFieldFromText(&list, "responseView", "1").ok());
  EXPECT_EQ(list.response_view(), v2::Task::BASIC);

  v2::UpdateQueueRequest update;
  ASSERT_TRUE(SetFieldFromText(&update, "queue.name", "n").ok());
  EXPECT_EQ(update.queue().name(), "n");
  ASSERT_TRUE(SetFieldFromText(&update, "updateMask", "rateLimits.maxBurstSize,retry_config").ok());
  EXPECT_THAT(update.update_mask().paths(),
              testing::ElementsAre("rate_limits.max_burst_size", "retry_config"));
}

TEST(QueryFields, WhatDoesNotFitIsRefusedByName) {
  v2::ListTasksRequest request;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"pageSize", "many"},
                                                        {"pageSize", "99999999999"},
                                                        {"pageSize", ""},
                                                        {"responseView", "SOME"},
                                                        {"nothing", "1"},
                                                        {"pageSize.x", "1"}}) {
    const Status status = SetFieldFromText(&request, name, value);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(name));
  }
}

}  // namespace
}  // namespace sluice::front
