// SPDX-License-Identifier: Apache-2.0
#include "front/rest/path_template.h"

#include <gtest/gtest.h>

namespace sluice::front {
namespace {

constexpr std::string_view kPause = "/v2/{name=projects/*/locations/*/queues/*}:pause";
constexpr std::string_view kTasks = "/v2/{parent=projects/*/locations/*/queues/*}/tasks";

std::optional<std::string> Bound(std::string_view text, std::string_view path) {
  const StatusOr<PathTemplate> parsed = PathTemplate::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const auto bindings = parsed->Match(path);
  if (!bindings) return std::nullopt;
  EXPECT_EQ(bindings->size(), 1u);
  return bindings->front().field + "=" + bindings->front().value;
}

TEST(PathTemplate, AVariableTakesTheSegmentsOfItsPattern) {
  EXPECT_EQ(Bound(kTasks, "/v2/projects/p/locations/l/queues/q/tasks"),
            "parent=projects/p/locations/l/queues/q");
  EXPECT_EQ(Bound(kPause, "/v2/projects/p/locations/l/queues/q:pause"),
            "name=projects/p/locations/l/queues/q");
  EXPECT_EQ(Bound("/v2/{queue.name=projects/*/locations/*/queues/*}",
                  "/v2/projects/p/locations/l/queues/q"),
            "queue.name=projects/p/locations/l/queues/q");
}

TEST(PathTemplate, OtherPathsDoNotFit) {
  for (const char* path :
       {"/v2/projects/p/locations/l/queues/q", "/v2/projects/p/locations/l/queues/q/tasks/",
        "/v2/projects/p/locations/l/queues//tasks", "v2/projects/p/locations/l/queues/q/tasks",
        "/v3/projects/p/locations/l/queues/q/tasks", "/v2/projects/p/locations/l/queues/q/Tasks",
        "/v2/projects/p/locations/l/queues/q/x/../tasks", "", "/"}) {
    EXPECT_EQ(Bound(kTasks, path), std::nullopt) << path;
  }
  EXPECT_EQ(Bound(kPause, "/v2/projects/p/locations/l/queues/q:resume"), std::nullopt);
  EXPECT_EQ(Bound(kPause, "/v2/projects/p/locations/l/queues/q"), std::nullopt);
  EXPECT_EQ(Bound(kPause, "/v2/projects/p/locations/l/queues/:pause"), std::nullopt);
}

TEST(PathTemplate, SegmentsAreDecodedAndMayNotHideASlash) {
  EXPECT_EQ(Bound(kTasks, "/v2/projects/a%3Ab/locations/l/queues/q/tasks"),
            "parent=projects/a:b/locations/l/queues/q");
  EXPECT_EQ(Bound(kTasks, "/v2/projects/p/locations/l/queues/q%2Ftasks/tasks"), std::nullopt);
  EXPECT_EQ(Bound(kTasks, "/v2/projects/p/locations/l/queues/q%2/tasks"), std::nullopt);
  EXPECT_EQ(Bound(kTasks, "/v2/projects/p/locations/l/queues/q%zz/tasks"), std::nullopt);
  EXPECT_EQ(Bound(kTasks, "/v2/projects/p/locations/l/queues/q%ff/tasks"), std::nullopt);
}

TEST(PathTemplate, WhatIsNotUnderstoodIsRefusedWhenTheServerIsBuilt) {
  for (const char* text : {"", "v2/x", "/v2/{name", "/v2/{name=**}", "/v2//x", "/v2/a{b}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(PathTemplate::Parse(text).status())) << text;
  }
}

}  // namespace
}  // namespace sluice::front
