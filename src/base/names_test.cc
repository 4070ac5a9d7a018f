// SPDX-License-Identifier: Apache-2.0
// Proves the name grammar at its edges: acceptance lines 3, 4, 6 and 51.
#include "base/names.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::string_view kQueue = "projects/p/locations/l/queues/";

TEST(Names, WholeNamesReadBackAsGiven) {
  const auto task =
      TaskName::Parse("projects/example.com:proj-1/locations/eu-1/queues/Q-1/tasks/a_B-9");
  ASSERT_TRUE(task.ok()) << task.status();
  EXPECT_EQ(task->queue.location.project, "example.com:proj-1");
  EXPECT_EQ(task->task_id, "a_B-9");
  EXPECT_EQ(task->ToString(), "projects/example.com:proj-1/locations/eu-1/queues/Q-1/tasks/a_B-9");
}

TEST(Names, ANameInsideALongerStringIsNoName) {
  for (const std::string_view bad :
       {"xprojects/p/locations/l/queues/q", "projects/p/locations/l/queues/q/x",
        "projects/p/locations/l/queues/q/", "/projects/p/locations/l/queues/q", "",
        "projects/p/locations/l/queue/q", "projects//locations/l/queues/q"}) {
    EXPECT_EQ(QueueName::Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(Names, QueueIdsHaveTheirLengthAndAlphabet) {
  EXPECT_TRUE(QueueName::Parse(std::string(kQueue) + std::string(100, 'q')).ok());
  EXPECT_FALSE(QueueName::Parse(std::string(kQueue) + std::string(101, 'q')).ok());
  EXPECT_FALSE(QueueName::Parse(std::string(kQueue) + "under_score").ok());
  EXPECT_FALSE(QueueName::Parse(kQueue).ok());
}

TEST(Names, TaskIdsHaveTheirLengthAndAlphabet) {
  const std::string tasks = std::string(kQueue) + "q/tasks/";
  EXPECT_TRUE(TaskName::Parse(tasks + std::string(500, '_')).ok());
  EXPECT_FALSE(TaskName::Parse(tasks + std::string(501, 't')).ok());
  EXPECT_FALSE(TaskName::Parse(tasks + "with space").ok());
  EXPECT_FALSE(TaskName::Parse(tasks).ok());
}

TEST(Names, AnErrorNamesTheRuleAndCutsLongInput) {
  const Status status = QueueName::Parse(std::string(1 << 20, 'x')).status();
  EXPECT_LT(Message(status).size(), 1000u);
  EXPECT_NE(Message(status).find("projects/*/locations/*/queues/*"), std::string_view::npos);
}

}  // namespace
}  // namespace sluice
