// SPDX-License-Identifier: Apache-2.0
// Proves the bounds of the inbox and that no wake-up is lost.
#include "engine/inbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace sluice::engine {
namespace {

constexpr Duration kLong = absl::Seconds(60);  // longer than a test may take

Command SomeCommand(std::size_t body_bytes = 0) {
  CreateTask create;
  create.task.request.body.assign(body_bytes, 'x');
  return create;
}

Inbox::Refusal Put(Inbox& inbox, Command command) {
  Done done = [](Reply) {};
  return inbox.PutCommand(command, done);
}

TEST(Inbox, RefusesBeyondItsCountAndTakesAgainWhenEmptied) {
  Inbox inbox(2, 1 << 20);
  EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kFull);
  EXPECT_EQ(inbox.Take(1, kLong).commands.size(), 2u);
  EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
}

TEST(Inbox, RefusesBeyondItsBytes) {
  Inbox inbox(100, 10'000);
  EXPECT_EQ(Put(inbox, SomeCommand(9'000)), Inbox::Refusal::kNone);
  EXPECT_EQ(Put(inbox, SomeCommand(9'000)), Inbox::Refusal::kFull);
}

TEST(Inbox, AClosedInboxTakesAnswersOnly) {
  Inbox inbox(2, 1 << 20);
  inbox.Close();
  EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kClosed);
  inbox.PutAnswer(Committed{1});
  EXPECT_EQ(inbox.Take(1, kLong).answers.size(), 1u);
}

TEST(Inbox, UnwantedCommandsStayWhileAnswersPass) {
  Inbox inbox(2, 1 << 20);
  ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  inbox.PutAnswer(Committed{1});
  const Inbox::Taken taken = inbox.Take(Inbox::kNoCommands, kLong);
  EXPECT_EQ(taken.answers.size(), 1u);
  EXPECT_TRUE(taken.commands.empty());
  EXPECT_EQ(inbox.command_count(), 1u);
}

TEST(Inbox, AWaitingLaneIsWokenByEachKindOfNews) {
  Inbox inbox(2, 1 << 20);
  for (int kind = 0; kind < 3; ++kind) {
    std::thread other([&] {
      if (kind == 0) inbox.PutAnswer(Committed{1});
      if (kind == 1) {
        EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
      }
      if (kind == 2) inbox.Wake();
    });
    const Inbox::Taken taken = inbox.Take(1, kLong);
    EXPECT_EQ(taken.answers.size() + taken.commands.size(), kind == 2 ? 0u : 1u);
    other.join();
  }
}

TEST(Inbox, CommandsGatherWhileTheLaneWaitsForMore) {
  Inbox inbox(4, 1 << 20);
  ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  EXPECT_EQ(inbox.Take(2, absl::ZeroDuration()).commands.size(), 1u) << "it is awake: it takes all";
  ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  std::thread other([&] { EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone); });
  EXPECT_EQ(inbox.Take(2, kLong).commands.size(), 2u);
  other.join();
}

TEST(Inbox, CommandsGatherUntilTheirBytesAreEnough) {
  Inbox inbox(4, 1 << 20);
  ASSERT_EQ(Put(inbox, SomeCommand(600)), Inbox::Refusal::kNone);
  std::thread other([&] { EXPECT_EQ(Put(inbox, SomeCommand(600)), Inbox::Refusal::kNone); });
  EXPECT_EQ(inbox.Take(4, kLong, 1'200).commands.size(), 2u);
  other.join();
}

TEST(Inbox, AFullInboxIsNotWaitedFor) {
  Inbox inbox(2, 1 << 20);
  ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
  std::thread other([&] { EXPECT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kFull); });
  EXPECT_EQ(inbox.Take(4, kLong).commands.size(), 2u);
  other.join();
}

TEST(Inbox, ManyWritersLoseNothing) {
  constexpr int kWriters = 4;
  constexpr std::size_t kEach = 2'000;
  Inbox inbox(kWriters * kEach, std::size_t{1} << 30);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      for (std::size_t i = 0; i < kEach; ++i)
        ASSERT_EQ(Put(inbox, SomeCommand()), Inbox::Refusal::kNone);
    });
  }
  std::size_t got = 0;
  while (got < kWriters * kEach) got += inbox.Take(1, kLong).commands.size();
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(got, kWriters * kEach);
}

}  // namespace
}  // namespace sluice::engine
