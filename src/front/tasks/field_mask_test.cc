// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/field_mask.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "google/cloud/tasks/v2/queue.pb.h"

namespace sluice::front {
namespace {

StatusOr<FieldSelection> Resolve(std::initializer_list<std::string> paths) {
  google::protobuf::FieldMask mask;
  for (const std::string& path : paths) mask.add_paths(path);
  return FieldSelection::Resolve(mask, *google::cloud::tasks::v2::Queue::descriptor(),
                                 "update_mask");
}

TEST(FieldMask, WithoutPathsEverythingIsNamed) {
  const auto selection = Resolve({});
  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection->Includes("rate_limits.max_dispatches_per_second"));
  EXPECT_TRUE(selection->Touches("http_target"));
}

TEST(FieldMask, AStarStandsForEverything) {
  const auto selection = Resolve({"rate_limits", "*"});
  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection->Includes("retry_config.max_attempts"));
}

TEST(FieldMask, AParentIncludesItsLeaves) {
  const auto selection = Resolve({"rate_limits"});
  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection->Includes("rate_limits.max_dispatches_per_second"));
  EXPECT_TRUE(selection->Includes("rate_limits.max_concurrent_dispatches"));
  EXPECT_FALSE(selection->Includes("retry_config.max_attempts"));
}

TEST(FieldMask, ALeafIncludesNeitherParentNorSiblings) {
  const auto selection = Resolve({"retry_config.max_attempts"});
  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection->Includes("retry_config.max_attempts"));
  EXPECT_FALSE(selection->Includes("retry_config"));
  EXPECT_FALSE(selection->Includes("retry_config.max_doublings"));
  EXPECT_TRUE(selection->Touches("retry_config"));
  EXPECT_FALSE(selection->Touches("rate_limits"));
}

TEST(FieldMask, CamelCaseAndSnakeCaseAreTheSamePath) {
  const auto selection = Resolve({"retryConfig.maxAttempts", "rateLimits.max_burst_size"});
  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection->Includes("retry_config.max_attempts"));
  EXPECT_TRUE(selection->Includes("rate_limits.max_burst_size"));
}

TEST(FieldMask, EveryPathTheCommandLineToolSendsIsKnown) {
  EXPECT_TRUE(
      Resolve({"retryConfig.maxAttempts", "retryConfig.maxRetryDuration",
               "retryConfig.maxDoublings", "retryConfig.minBackoff", "retryConfig.maxBackoff",
               "rateLimits.maxDispatchesPerSecond", "rateLimits.maxConcurrentDispatches",
               "appEngineRoutingOverride", "httpTarget.uriOverride", "httpTarget.httpMethod",
               "httpTarget.headerOverrides", "httpTarget.oauthToken.serviceAccountEmail",
               "httpTarget.oauthToken.scope", "httpTarget.oidcToken.serviceAccountEmail",
               "httpTarget.oidcToken.audience", "stackdriverLoggingConfig.samplingRatio"})
          .ok());
}

TEST(FieldMask, UnknownPathsAreRefusedByName) {
  for (const std::string path :
       {"colour", "rate_limits.colour", "", ".", "rate_limits.", ".rate_limits", "name.first",
        "purge_time.seconds", "http_target.header_overrides.header"}) {
    const auto selection = Resolve({path});
    EXPECT_TRUE(absl::IsInvalidArgument(selection.status())) << path;
    EXPECT_NE(Message(selection.status()).find("\"" + path + "\""), std::string_view::npos) << path;
  }
}

}  // namespace
}  // namespace sluice::front
