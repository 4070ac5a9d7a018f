// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace sluice::core {
namespace {

constexpr std::size_t kRowsMax = 8;
constexpr std::size_t kRowsLow = 3;

ScheduleKey Key(int time, Sequence sequence = 1) { return {absl::FromUnixSeconds(time), sequence}; }

bool NothingAbsent(ScheduleKey) { return false; }

std::vector<int> Times(const Window& window) {
  std::vector<int> times;
  for (const ScheduleKey& key : window.entries()) {
    times.push_back(static_cast<int>(absl::ToUnixSeconds(key.time)));
  }
  return times;
}

std::vector<ScheduleKey> Keys(const std::vector<int>& times) {
  std::vector<ScheduleKey> keys;
  for (const int time : times) keys.push_back(Key(time));
  return keys;
}

/// A window of a restored queue with a load under way.
Window Loading(ScheduleKey* after) {
  Window window(kRowsMax, kRowsLow);
  window.StartAt(Key(0, 0));
  std::size_t rows = 0;
  window.BeginLoad(after, &rows);
  return window;
}

TEST(Window, ANewQueuesWindowIsCompleteAndWantsNothing) {
  Window window(kRowsMax, kRowsLow);
  EXPECT_FALSE(window.WantsLoad());
  window.Insert(Key(2));
  window.Insert(Key(1));
  EXPECT_EQ(Times(window), (std::vector<int>{1, 2}));
  EXPECT_FALSE(window.bound().has_value());
}

TEST(Window, OverflowDropsTheEndAndLowersTheBound) {
  Window window(kRowsMax, kRowsLow);
  for (int time = 10; time > 0; --time) window.Insert(Key(time));
  EXPECT_EQ(window.size(), kRowsMax);
  EXPECT_EQ(window.bound(), Key(8));
  window.Insert(Key(9));
  EXPECT_EQ(window.size(), kRowsMax) << "beyond the bound only the ledger knows";
}

TEST(Window, AsksAgainWhenItRunsLowAndNotWhileAnAnswerIsDue) {
  Window window(kRowsMax, kRowsLow);
  for (int time = 1; time <= 10; ++time) window.Insert(Key(time));
  for (int time = 1; time <= 5; ++time) window.Erase(Key(time));
  EXPECT_FALSE(window.WantsLoad());
  window.Erase(Key(6));
  ASSERT_TRUE(window.WantsLoad());
  ScheduleKey after;
  std::size_t rows = 0;
  window.BeginLoad(&after, &rows);
  EXPECT_EQ(after, Key(8));
  EXPECT_EQ(rows, 6u);
  EXPECT_FALSE(window.WantsLoad());
  window.Loaded(after, Keys({9, 10}), true, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{7, 8, 9, 10}));
  EXPECT_FALSE(window.bound().has_value());
}

TEST(Window, AnEntryAddedDuringALoadComesInThoughTheAnswerMissesIt) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Insert(Key(2));
  window.Loaded(after, Keys({1, 3}), false, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{1, 2, 3}));
}

TEST(Window, AnEntryErasedDuringALoadStaysOutThoughTheAnswerShowsIt) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Erase(Key(2));
  window.Loaded(after, Keys({1, 2, 3}), false, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{1, 3}));
}

TEST(Window, TheLastChangeDuringALoadWins) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Insert(Key(2));
  window.Erase(Key(2));
  window.Erase(Key(3));
  window.Insert(Key(3));
  window.Loaded(after, Keys({1, 2, 3}), true, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{1, 3}));
}

TEST(Window, AnEntryAddedBehindTheAnswersEndStaysOutside) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Insert(Key(9));
  window.Loaded(after, Keys({1, 3}), false, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{1, 3})) << "between 3 and 9 others may lie";
  EXPECT_EQ(window.bound(), Key(3));
}

TEST(Window, EntriesOfFlyingAndPurgedTasksStayOut) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Loaded(after, Keys({1, 2, 3}), true,
                [](ScheduleKey key) { return key.time == absl::FromUnixSeconds(2); });
  EXPECT_EQ(Times(window), (std::vector<int>{1, 3}));
}

TEST(Window, AnAnswerBehindALoweredBoundIsDroppedAndAskedForAgain) {
  Window window(kRowsMax, kRowsLow);
  for (int time = 11; time <= 20; ++time) window.Insert(Key(time));
  for (int time = 11; time <= 16; ++time) window.Erase(Key(time));
  ScheduleKey after;
  std::size_t rows = 0;
  window.BeginLoad(&after, &rows);
  ASSERT_EQ(after, Key(18));
  for (int time = 1; time <= 8; ++time) window.Insert(Key(time));
  ASSERT_EQ(window.bound(), Key(8));
  window.Loaded(after, Keys({19, 20}), true, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  for (int time = 1; time <= 6; ++time) window.Erase(Key(time));
  EXPECT_TRUE(window.WantsLoad());
}

TEST(Window, ResetMakesTheAnswerUnderWayVoid) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Reset();
  window.Insert(Key(50));
  EXPECT_FALSE(window.WantsLoad());
  window.Loaded(after, Keys({1, 2}), false, NothingAbsent);
  EXPECT_EQ(Times(window), (std::vector<int>{50}));
  EXPECT_FALSE(window.bound().has_value());
}

TEST(Window, AnEmptyUnfinishedAnswerIsAskedForAgain) {
  ScheduleKey after;
  Window window = Loading(&after);
  window.Loaded(after, {}, false, NothingAbsent);
  EXPECT_TRUE(window.WantsLoad());
}

TEST(Window, ManyChangesDuringALoadShortenWhatTheAnswerIsWorth) {
  ScheduleKey after;
  Window window = Loading(&after);
  // Far more than it remembers, latest first, so that early ones push out late ones.
  for (int time = 1000; time > 0; --time) window.Insert(Key(time, 7));
  window.Loaded(after, {}, true, NothingAbsent);
  ASSERT_TRUE(window.bound().has_value());
  EXPECT_EQ(Times(window), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

// A set of keys is changed at random while answers arrive late and mixed from
// the past and the present; up to its bound the window must equal the set.
TEST(Window, EqualsTheLedgerUpToItsBoundWhateverAnswersAreLate) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&random](int n) {
      return std::uniform_int_distribution<>(0, n - 1)(random);
    };
    Window window(kRowsMax, kRowsLow);
    std::set<ScheduleKey> ledger;
    std::set<ScheduleKey> seen;  // when the load was asked for
    bool is_loading = false;
    ScheduleKey after;
    std::size_t rows = 0;
    for (int step = 0; step < 400; ++step) {
      const ScheduleKey key = Key(pick(60));
      if (pick(200) == 0) {
        ledger.clear();
        seen.clear();
        window.Reset();
      } else if (pick(100) < (step / 100 % 2 == 0 ? 65 : 35)) {
        ledger.insert(key);
        window.Insert(key);
      } else {
        ledger.erase(key);
        window.Erase(key);
      }
      if (!is_loading && window.WantsLoad()) {
        window.BeginLoad(&after, &rows);
        is_loading = true;
        seen = ledger;
      } else if (is_loading && pick(20) == 0) {
        // Of what changed meanwhile the answer shows either state.
        std::set<ScheduleKey> mixed;
        for (const auto& k : seen) {
          if (ledger.contains(k) || pick(2) == 0) mixed.insert(k);
        }
        for (const auto& k : ledger) {
          if (seen.contains(k) || pick(2) == 0) mixed.insert(k);
        }
        std::vector<ScheduleKey> entries;
        auto it = mixed.upper_bound(after);
        for (; it != mixed.end() && entries.size() < rows; ++it) entries.push_back(*it);
        window.Loaded(after, entries, it == mixed.end(), NothingAbsent);
        is_loading = false;
      }
      std::vector<ScheduleKey> expected;
      for (const auto& k : ledger) {
        if (!window.bound().has_value() || k <= *window.bound()) expected.push_back(k);
      }
      const std::vector<ScheduleKey> actual(window.entries().begin(), window.entries().end());
      ASSERT_EQ(actual, expected) << "seed " << seed << " step " << step;
      ASSERT_LE(window.size(), kRowsMax);
    }
  }
}

}  // namespace
}  // namespace sluice::core
