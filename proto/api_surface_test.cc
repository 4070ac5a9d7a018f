// SPDX-License-Identifier: Apache-2.0
//
// The generated API is the surface we promise to answer for: the newest public
// v2, and v2beta3. It fails when a pinned package is swapped for an older one.
#include <gtest/gtest.h>

#include "google/api/annotations.pb.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace sluice {
namespace {

constexpr int kRpcCount = 20;

const google::protobuf::ServiceDescriptor* Service(const char* name) {
  // Naming a message links and registers the file that declares the service.
  google::cloud::tasks::v2::CreateTaskRequest::descriptor();
  google::cloud::tasks::v2beta3::CreateTaskRequest::descriptor();
  return google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
}

TEST(ApiSurface, BothVersionsHaveTwentyRpcs) {
  for (const char* name :
       {"google.cloud.tasks.v2.CloudTasks", "google.cloud.tasks.v2beta3.CloudTasks"}) {
    const auto* service = Service(name);
    ASSERT_NE(service, nullptr) << name;
    EXPECT_EQ(service->method_count(), kRpcCount) << name;
  }
}

TEST(ApiSurface, PubSubIsThere) {
  EXPECT_EQ(google::pubsub::v1::PublishRequest::descriptor()->file()->package(),
            "google.pubsub.v1");
  EXPECT_EQ(Service("google.pubsub.v1.Publisher")->method_count(), 9);
  EXPECT_EQ(Service("google.pubsub.v1.Subscriber")->method_count(), 16);
}

TEST(ApiSurface, V2HasRetryOfATaskAndTargetOfAQueue) {
  EXPECT_NE(google::cloud::tasks::v2::Task::descriptor()->FindFieldByName("retry_config"), nullptr);
  EXPECT_NE(google::cloud::tasks::v2::Queue::descriptor()->FindFieldByName("http_target"), nullptr);
}

TEST(ApiSurface, EveryMethodOfV2CarriesItsHttpRule) {
  const auto* service = Service("google.cloud.tasks.v2.CloudTasks");
  ASSERT_NE(service, nullptr);
  for (int i = 0; i < service->method_count(); ++i) {
    const auto* method = service->method(i);
    EXPECT_TRUE(method->options().HasExtension(google::api::http)) << method->full_name();
  }
}

TEST(ApiSurface, HealthServiceIsGenerated) {
  EXPECT_STREQ(grpc::health::v1::Health::service_full_name(), "grpc.health.v1.Health");
}

}  // namespace
}  // namespace sluice
