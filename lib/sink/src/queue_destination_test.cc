// SPDX-License-Identifier: Apache-2.0
// Checklist 58-60.
#include "sluice/sink/queue_destination.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::sink {
namespace {

TEST(QueueDestination, C58_GivesPathTextAndParts) {
  const auto queue = *QueueDestination::Of("my-project", "asia-northeast1", "webhooks");
  EXPECT_EQ(queue.path(), "projects/my-project/locations/asia-northeast1/queues/webhooks");
  EXPECT_EQ(queue.ToString(), "my-project/asia-northeast1/webhooks");
  EXPECT_EQ(queue.project(), "my-project");
  EXPECT_EQ(queue.location(), "asia-northeast1");
  EXPECT_EQ(queue.queue(), "webhooks");
  EXPECT_EQ(*QueueDestination::Parse(queue.path()), queue);
}

TEST(QueueDestination, C59_EqualExactlyWhenAllPartsAre) {
  const auto queue = *QueueDestination::Of("p", "l", "q");
  EXPECT_EQ(queue, *QueueDestination::Of("p", "l", "q"));
  EXPECT_EQ(queue.hash(), QueueDestination::Of("p", "l", "q")->hash());
  EXPECT_NE(queue, *QueueDestination::Of("x", "l", "q"));
  EXPECT_NE(queue, *QueueDestination::Of("p", "x", "q"));
  EXPECT_NE(queue, *QueueDestination::Of("p", "l", "x"));
}

TEST(QueueDestination, C60_MalformedPartsAreRefused) {
  for (const std::string bad : {"", "  ", "\t", " a", "a ", "\na", "a\x01", "a/b"}) {
    for (const auto& made :
         {QueueDestination::Of(bad, "l", "q"), QueueDestination::Of("p", bad, "q"),
          QueueDestination::Of("p", "l", bad)}) {
      EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    }
  }
  EXPECT_NE(Message(QueueDestination::Of("p", " ", "q").status()).find("location"),
            std::string_view::npos);
  EXPECT_NE(Message(QueueDestination::Of("p", "l", " q").status()).find("\" q\""),
            std::string_view::npos);
  EXPECT_TRUE(QueueDestination::Of("p", "l", "a\tb").ok());
}

TEST(QueueDestination, PathOfAnotherShapeIsRefused) {
  for (const std::string bad : {"", "q", "projects/p/locations/l/queues", "projects/p/locations/l",
                                "projects/p/locations/l/queues/q/tasks/t"}) {
    EXPECT_FALSE(QueueDestination::Parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace sluice::sink
