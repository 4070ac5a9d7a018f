// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_id.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace sluice::core {
namespace {

constexpr std::uint64_t kKey = 0x0123456789ABCDEF;
constexpr Sequence kLastSequence = 8'999'999'999'999'999'999u;

TEST(TaskId, HasNineteenDigitsAndLeadsBackToItsSequence) {
  for (Sequence sequence = 1; sequence <= 100'000; ++sequence) {
    const std::string id = GeneratedTaskId(sequence, kKey);
    ASSERT_EQ(id.size(), kGeneratedIdLength);
    ASSERT_NE(id[0], '0');
    ASSERT_EQ(SequenceOfGeneratedId(id, kKey), sequence);
  }
}

TEST(TaskId, AHundredThousandIdsAreAllDifferent) {
  std::unordered_set<std::string> ids;
  for (Sequence sequence = 1; sequence <= 100'000; ++sequence) {
    EXPECT_TRUE(ids.insert(GeneratedTaskId(sequence, kKey)).second);
  }
}

TEST(TaskId, HoldsAtTheEndsOfItsRange) {
  for (const Sequence sequence : {Sequence{1}, Sequence{2}, kLastSequence - 1, kLastSequence}) {
    EXPECT_EQ(SequenceOfGeneratedId(GeneratedTaskId(sequence, kKey), kKey), sequence);
  }
}

TEST(TaskId, EveryIdOfTheFormBelongsToExactlyOneSequence) {
  for (const char* id : {"1000000000000000000", "9999999999999999999", "5555555555555555555"}) {
    const auto sequence = SequenceOfGeneratedId(id, kKey);
    ASSERT_TRUE(sequence.has_value());
    EXPECT_EQ(GeneratedTaskId(*sequence, kKey), id);
  }
}

TEST(TaskId, OtherStringsAreNotGeneratedIds) {
  for (const char* id :
       {"", "1", "0123456789012345678", "123456789012345678", "12345678901234567890",
        "123456789012345678a", "-234567890123456789", "my-task"}) {
    EXPECT_EQ(SequenceOfGeneratedId(id, kKey), std::nullopt) << id;
  }
}

TEST(TaskId, NeighboursLookUnrelated) {
  // About half of the time two random numbers of this range differ by more than
  // a quarter of it; sequential ids would never.
  int far = 0;
  for (Sequence sequence = 1; sequence <= 1000; ++sequence) {
    const auto a = std::stoull(GeneratedTaskId(sequence, kKey));
    const auto b = std::stoull(GeneratedTaskId(sequence + 1, kKey));
    if ((a > b ? a - b : b - a) > 2'250'000'000'000'000'000u) ++far;
  }
  EXPECT_GT(far, 400);
  EXPECT_LT(far, 700);
}

TEST(TaskId, QueuesPermuteInTheirOwnWay) {
  const std::string id = GeneratedTaskId(1, QueueIdKey(kKey, 1));
  const auto elsewhere = SequenceOfGeneratedId(id, QueueIdKey(kKey, 2));
  ASSERT_TRUE(elsewhere.has_value());
  EXPECT_GT(*elsewhere, 1'000'000'000'000u);
}

}  // namespace
}  // namespace sluice::core
