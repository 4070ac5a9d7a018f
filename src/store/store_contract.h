// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every store must do, as one suite. A test program includes this once
// and instantiates `StoreContract` with a function that makes a `StoreBox`.
// Test code only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/all_rows.h"
#include "store/keys.h"
#include "store/store.h"

namespace sluice::store {

/// One store under test and what the suite does to it from outside.
class StoreBox {
 public:
  virtual ~StoreBox() = default;
  virtual Store& store() = 0;
  /// Loses what was not flushed and opens again, as after a crash.
  virtual void CrashAndReopen() = 0;
  /// Where checkpoints can go, or empty if the store makes none.
  virtual std::string CheckpointDir() = 0;
  virtual StatusOr<std::unique_ptr<Store>> OpenCheckpoint(const std::string& dir) = 0;
};

class StoreContract : public testing::TestWithParam<std::function<std::unique_ptr<StoreBox>()>> {
 protected:
  StoreContract() : box_(GetParam()()) {}

  Store& store() { return box_->store(); }

  void Put(std::string_view key, std::string_view value) {
    Batch batch;
    batch.Put(key, value);
    Apply(batch);
  }
  void Apply(const Batch& batch) {
    const Status status = store().Apply(batch);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Flush() {
    const Status status = store().Flush();
    ASSERT_TRUE(status.ok()) << status;
  }
  /// The value, or nothing.
  std::optional<std::string> Get(std::string_view key) {
    std::string value;
    const auto found = store().Get(key, ReadMode::kBlocking, &value);
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found.ok() && *found != Lookup::kCold) << "a blocking read is never cold";
    if (!found.ok() || *found != Lookup::kFound) return std::nullopt;
    return value;
  }
  std::optional<std::string> Flushed(std::string_view key) {
    const auto value = store().GetFlushed(key);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : std::nullopt;
  }
  /// Keys a scan gives, and "." at the end if it says the range was read to its end.
  std::vector<std::string> Keys(const ScanRange& range) {
    std::vector<std::string> keys;
    const auto is_end = store().Scan(range, [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return true;
    });
    EXPECT_TRUE(is_end.ok()) << is_end.status();
    if (is_end.ok() && *is_end) keys.emplace_back(".");
    return keys;
  }

  std::unique_ptr<StoreBox> box_;
};

TEST_P(StoreContract, ReadGivesTheLastChangeOfAKey) {
  EXPECT_EQ(Get("k"), std::nullopt);
  Put("k", "1");
  EXPECT_EQ(Get("k"), "1");
  Put("k", "2");
  EXPECT_EQ(Get("k"), "2");
  Batch batch;
  batch.Delete("k");
  batch.Delete("never there");
  Apply(batch);
  EXPECT_EQ(Get("k"), std::nullopt);
  Put("k", "3");
  EXPECT_EQ(Get("k"), "3");
}

TEST_P(StoreContract, ChangesOfABatchApplyInTheirOrder) {
  Batch batch;
  batch.Put("a", "1");
  batch.Put("b", "1");
  batch.DeleteRange("a", "z");
  batch.Put("b", "2");
  batch.Put("c", "1");
  batch.Delete("c");
  Apply(batch);
  EXPECT_EQ(AllRows(store()), (Rows{{"b", "2"}}));
}

// An insert hint shared between point keys and range deletions once ended the
// process here.
TEST_P(StoreContract, RangeDeletionsFollowOrderedInsertsOfTheirFamily) {
  for (std::uint64_t incarnation = 1; incarnation <= 20; ++incarnation) {
    Batch fill;
    for (std::uint64_t sequence = 1; sequence <= 200; ++sequence) {
      fill.Put(BodyKey(incarnation, sequence), "body");
      fill.Put(ScheduleKey(incarnation, 1'000, sequence), "");
    }
    Apply(fill);
    Batch erase;
    for (const KeyRange& range : IncarnationRanges(incarnation)) {
      erase.DeleteRange(range.from, range.to);
    }
    Apply(erase);
    EXPECT_TRUE(AllRows(store()).empty());
  }
}

TEST_P(StoreContract, DeleteRangeTakesItsFirstKeyAndLeavesItsLast) {
  for (const char* key : {"a", "b", "b1", "c", "d"}) Put(key, "");
  Flush();
  Put("b2", "");
  Batch batch;
  batch.DeleteRange("b", "c");
  Apply(batch);
  EXPECT_EQ(AllRows(store()), (Rows{{"a", ""}, {"c", ""}, {"d", ""}}));
}

TEST_P(StoreContract, AnyBytesAreAKeyAndAValue) {
  const std::string odd_key("\0\xff\n\0", 4);
  const std::string odd_value("\0\0\xfe", 3);
  Put(odd_key, odd_value);
  Put("", "empty key");
  Put("empty value", "");
  const std::string large(1u << 20, 'x');
  Put("large", large);
  Flush();
  EXPECT_EQ(Get(odd_key), odd_value);
  EXPECT_EQ(Get(""), "empty key");
  EXPECT_EQ(Get("empty value"), "");
  EXPECT_EQ(Get("large"), large);
  EXPECT_EQ(AllRows(store()).size(), 4u);
}

TEST_P(StoreContract, DamagedBatchChangesNothingAndIsNoDiskFailure) {
  Put("a", "1");
  Batch batch;
  batch.Put("a", "2");
  batch.Put("b", "2");
  std::string cut = batch.bytes();
  cut.pop_back();
  EXPECT_EQ(store().Apply(Batch(cut)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "1"}}));
  Apply(batch);
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "2"}, {"b", "2"}}));
}

TEST_P(StoreContract, EmptyBatchIsNoChange) {
  Apply(Batch());
  EXPECT_EQ(AllRows(store()), Rows{});
  Flush();
}

TEST_P(StoreContract, ScanGivesTheRangeInTheOrderOfUnsignedBytes) {
  using testing::ElementsAre;
  for (const char* key : {"b", "a", "\xff", "ab", "\x7f", "c"}) Put(key, "v");
  Flush();
  Put("aa", "v");  // rows come from memory and disk as one
  EXPECT_THAT(Keys({.from = "a", .to = "\xff\xff", .rows_max = 100}),
              ElementsAre("a", "aa", "ab", "b", "c", "\x7f", "\xff", "."));
  EXPECT_THAT(Keys({.from = "aa", .to = "c", .rows_max = 100}), ElementsAre("aa", "ab", "b", "."));
  EXPECT_THAT(Keys({.from = "aaa", .to = "aab", .rows_max = 100}), ElementsAre("."));
  EXPECT_THAT(Keys({.from = "b", .to = "b", .rows_max = 100}), ElementsAre("."));
  EXPECT_THAT(Keys({.from = "c", .to = "a", .rows_max = 100}), ElementsAre("."));
}

TEST_P(StoreContract, ScanStopsAtItsRowsAndSaysWhetherTheRangeEnded) {
  using testing::ElementsAre;
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "v");
  EXPECT_THAT(Keys({.from = "a", .to = "d", .rows_max = 2}), ElementsAre("a", "b"));
  EXPECT_THAT(Keys({.from = "a", .to = "d", .rows_max = 3}), ElementsAre("a", "b", "c", "."));
}

TEST_P(StoreContract, ScanStopsAtItsBytesButGivesOneRow) {
  using testing::ElementsAre;
  for (const char* key : {"a", "b", "c"}) Put(key, "0123456789");  // 11 bytes each
  const auto keys = [&](std::size_t bytes_max) {
    return Keys({.from = "a", .to = "z", .rows_max = 100, .bytes_max = bytes_max});
  };
  EXPECT_THAT(keys(1), ElementsAre("a"));
  EXPECT_THAT(keys(21), ElementsAre("a"));
  EXPECT_THAT(keys(22), ElementsAre("a", "b"));
  EXPECT_THAT(keys(33), ElementsAre("a", "b", "c", "."));
  EXPECT_THAT(keys(0), ElementsAre("a", "b", "c", "."));
}

TEST_P(StoreContract, VisitorCanStopAScan) {
  for (const char* key : {"a", "b", "c"}) Put(key, "v");
  int rows = 0;
  const auto is_end = store().Scan({.from = "a", .to = "z", .rows_max = 100},
                                   [&](std::string_view, std::string_view) { return ++rows < 2; });
  ASSERT_TRUE(is_end.ok());
  EXPECT_FALSE(*is_end);
  EXPECT_EQ(rows, 2);
}

TEST_P(StoreContract, ScanShowsOneStateWhileItsVisitorChangesTheStore) {
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  std::vector<std::string> seen;
  const auto is_end = store().Scan({.from = "a", .to = "z", .rows_max = 100},
                                   [&](std::string_view key, std::string_view value) {
                                     seen.push_back(fmt::format("{}={}", key, value));
                                     Put("b", "new");
                                     Batch batch;
                                     batch.Delete("c");
                                     Apply(batch);
                                     return true;
                                   });
  ASSERT_TRUE(is_end.ok());
  EXPECT_THAT(seen, testing::ElementsAre("a=old", "b=old", "c=old"));
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "old"}, {"b", "new"}}));
}

TEST_P(StoreContract, MemoryOnlyReadIsColdOrTrue) {
  constexpr int kKeys = 500;
  for (int i = 0; i < kKeys; i += 2) Put(std::to_string(i), std::to_string(i));
  Flush();
  box_->CrashAndReopen();
  int known = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      std::string value;
      const auto found = store().Get(std::to_string(i), ReadMode::kMemoryOnly, &value);
      ASSERT_TRUE(found.ok()) << found.status();
      if (*found == Lookup::kCold) continue;
      ++known;
      EXPECT_EQ(*found == Lookup::kFound, i % 2 == 0) << i;
      if (*found == Lookup::kFound) {
        EXPECT_EQ(value, std::to_string(i));
      }
    }
    for (int i = 0; i < kKeys; ++i) Get(std::to_string(i));  // warms for the second round
  }
  EXPECT_GE(known, kKeys) << "blocking reads of so few keys leave all of them in memory";
}

TEST_P(StoreContract, CrashKeepsTheFlushedAndLosesTheRest) {
  Put("a", "1");
  Put("b", "1");
  Flush();
  box_->CrashAndReopen();
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "1"}, {"b", "1"}}));
  Batch batch;
  batch.Put("a", "2");
  batch.DeleteRange("b", "c");
  batch.Put("c", "2");
  Apply(batch);
  box_->CrashAndReopen();
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "1"}, {"b", "1"}}));
  Apply(batch);
  Flush();
  box_->CrashAndReopen();
  EXPECT_EQ(AllRows(store()), (Rows{{"a", "2"}, {"c", "2"}}));
}

TEST_P(StoreContract, FlushedReadShowsTheLastFlushAndNothingLater) {
  EXPECT_EQ(Flushed("a"), std::nullopt);
  Put("a", "1");
  Put("b", "1");
  EXPECT_EQ(Flushed("a"), std::nullopt);
  Flush();
  EXPECT_EQ(Flushed("a"), "1");
  Put("a", "2");
  Put("a", "3");
  Batch batch;
  batch.Delete("b");
  Apply(batch);
  EXPECT_EQ(Flushed("a"), "1");
  EXPECT_EQ(Flushed("b"), "1");
  box_->CrashAndReopen();
  EXPECT_EQ(Flushed("a"), "1");
  Put("a", "4");
  EXPECT_EQ(Flushed("a"), "1");
  Apply(batch);
  Flush();
  EXPECT_EQ(Flushed("a"), "4");
  EXPECT_EQ(Flushed("b"), std::nullopt);
}

TEST_P(StoreContract, UsageCountsWhatACrashWouldLose) {
  EXPECT_EQ(store().Usage().unflushed_bytes, 0u);
  const std::string value(100'000, 'x');
  Put("k", value);
  EXPECT_GE(store().Usage().unflushed_bytes, value.size());
  EXPECT_GE(store().Usage().memory_bytes, value.size());
  Flush();
  EXPECT_EQ(store().Usage().unflushed_bytes, 0u);
}

TEST_P(StoreContract, ReadersBesideTheWriterSeeWholeBatches) {
  constexpr int kBatches = 2000;
  constexpr int kFlushEvery = 400;
  std::atomic<bool> is_done = false;
  std::atomic<std::uint64_t> reads = 0;
  const auto read = [&] {
    std::string last;
    while (!is_done) {
      std::vector<std::string> values;
      const auto is_end = store().Scan({.from = "x", .to = "z", .rows_max = 10},
                                       [&](std::string_view, std::string_view value) {
                                         values.emplace_back(value);
                                         return true;
                                       });
      ASSERT_TRUE(is_end.ok());
      ASSERT_TRUE(values.empty() || (values.size() == 2 && values[0] == values[1]));
      if (!values.empty()) {
        ASSERT_LE(last, values[0]) << "a reader went back in time";
        last = values[0];
      }
      std::string value;
      ASSERT_TRUE(store().Get("x", ReadMode::kBlocking, &value).ok());
      ++reads;
    }
  };
  std::thread one(read);
  std::thread two(read);
  for (int i = 0; i < kBatches; ++i) {
    Batch batch;
    batch.Put("x", fmt::format("{:08}", i));
    batch.Put("y", fmt::format("{:08}", i));
    Apply(batch);
    if (i % kFlushEvery == 0) Flush();
  }
  while (reads == 0) std::this_thread::yield();
  is_done = true;
  one.join();
  two.join();
  EXPECT_EQ(Get("x"), fmt::format("{:08}", kBatches - 1));
}

TEST_P(StoreContract, CheckpointIsAStoreOfItsMomentOrRefusedClearly) {
  Put("a", "flushed");
  Flush();
  Put("b", "applied");
  const std::string dir = box_->CheckpointDir();
  const Status status = store().Checkpoint(dir.empty() ? "anywhere" : dir);
  if (dir.empty()) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    return;
  }
  ASSERT_TRUE(status.ok()) << status;
  Put("c", "later");
  Flush();
  {
    auto copy = box_->OpenCheckpoint(dir);
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(AllRows(**copy), (Rows{{"a", "flushed"}, {"b", "applied"}}));
    Batch batch;
    batch.Put("a", "changed in the copy");
    ASSERT_TRUE((*copy)->Apply(batch).ok());
  }
  EXPECT_EQ(Get("a"), "flushed");
  EXPECT_EQ(store().Checkpoint(dir).code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace sluice::store
