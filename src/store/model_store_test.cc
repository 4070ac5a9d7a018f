// SPDX-License-Identifier: Apache-2.0
// Proves the powers the model has beyond the store interface: a crash loses
// exactly the batches after the flushed prefix, cold keys are chosen by the
// seed and warmed by a blocking read, and injected failures are final.
#include "store/model_store.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace sluice::store {
namespace {

using Rows = std::map<std::string, std::string>;

Rows All(const Store& store) {
  Rows rows;
  const auto end = store.Scan({.from = "", .to = "\xff", .rows_max = 1u << 20},
                              [&](std::string_view key, std::string_view value) {
                                rows.emplace(key, value);
                                return true;
                              });
  EXPECT_TRUE(end.ok() && *end);
  return rows;
}

Batch PutOne(std::string_view key, std::string_view value) {
  Batch batch;
  batch.Put(key, value);
  return batch;
}

Lookup Read(const Store& store, std::string_view key, ReadMode mode) {
  std::string value;
  const auto found = store.Get(key, mode, &value);
  EXPECT_TRUE(found.ok());
  return *found;
}

TEST(ModelStore, CrashLosesExactlyTheBatchesAfterTheFlush) {
  ModelStore store;
  ASSERT_TRUE(store.Apply(PutOne("a", "1")).ok());
  ASSERT_TRUE(store.Flush().ok());
  ASSERT_TRUE(store.Apply(PutOne("a", "2")).ok());
  ASSERT_TRUE(store.Apply(PutOne("b", "1")).ok());
  EXPECT_EQ(store.unflushed_count(), 2u);
  store.Crash();
  EXPECT_EQ(All(store), (Rows{{"a", "1"}}));
  EXPECT_EQ(store.unflushed_count(), 0u);
}

TEST(ModelStore, EveryFlushedPrefixSurvivesExactly) {
  // Long enough that all kinds of changes meet each other on few keys.
  constexpr int kBatches = 12;
  constexpr int kRounds = 300;
  std::mt19937_64 rng(42);
  std::vector<bool> seen_prefix(kBatches + 1, false);
  for (int round = 0; round < kRounds; ++round) {
    ModelStore store;
    std::vector<Rows> after{Rows{}};
    for (int i = 0; i < kBatches; ++i) {
      Batch batch;
      for (int change = 0; change < 4; ++change) {
        const std::string key(1, static_cast<char>('a' + rng() % 6));
        switch (rng() % 4) {
          case 0:
            batch.Delete(key);
            break;
          case 1:
            batch.DeleteRange(key, std::string(1, static_cast<char>(key[0] + 2)));
            break;
          default:
            batch.Put(key, std::to_string(rng() % 100));
        }
      }
      ASSERT_TRUE(store.Apply(batch).ok());
      after.push_back(All(store));
    }
    const std::size_t flushed = store.FlushSome(rng());
    ASSERT_LE(flushed, after.size() - 1);
    seen_prefix[flushed] = true;
    for (char key = 'a'; key < 'g'; ++key) {
      const std::string name(1, key);
      const auto value = store.GetFlushed(name);
      ASSERT_TRUE(value.ok());
      EXPECT_EQ(value->has_value(), after[flushed].contains(name));
      if (value->has_value()) {
        EXPECT_EQ(**value, after[flushed].at(name));
      }
    }
    store.Crash();
    EXPECT_EQ(All(store), after[flushed]);
    std::size_t bytes = 0;
    for (const auto& [key, value] : after[flushed]) bytes += key.size() + value.size();
    EXPECT_EQ(store.Usage().memory_bytes, bytes);
    EXPECT_EQ(store.Usage().unflushed_bytes, 0u);
  }
  for (int i = 0; i <= kBatches; ++i) EXPECT_TRUE(seen_prefix[i]) << "prefix of " << i;
}

TEST(ModelStore, ColdKeyIsColdUntilItWasReadBlockingAndAgainAfterACrash) {
  ModelStore store({.seed = 1, .cold_fraction = 1});
  ASSERT_TRUE(store.Apply(PutOne("k", "v")).ok());
  ASSERT_TRUE(store.Flush().ok());
  EXPECT_EQ(Read(store, "k", ReadMode::kMemoryOnly), Lookup::kCold);
  EXPECT_EQ(Read(store, "absent", ReadMode::kMemoryOnly), Lookup::kCold);
  EXPECT_EQ(Read(store, "k", ReadMode::kBlocking), Lookup::kFound);
  EXPECT_EQ(Read(store, "absent", ReadMode::kBlocking), Lookup::kAbsent);
  EXPECT_EQ(Read(store, "k", ReadMode::kMemoryOnly), Lookup::kFound);
  EXPECT_EQ(Read(store, "absent", ReadMode::kMemoryOnly), Lookup::kAbsent);
  store.Crash();
  EXPECT_EQ(Read(store, "k", ReadMode::kMemoryOnly), Lookup::kCold);
}

TEST(ModelStore, SeedChoosesWhichKeysAreCold) {
  constexpr int kKeys = 2000;
  const ModelStore quarter({.seed = 7, .cold_fraction = 0.25});
  const ModelStore same({.seed = 7, .cold_fraction = 0.25});
  const ModelStore other({.seed = 8, .cold_fraction = 0.25});
  int cold = 0;
  int differs = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    const Lookup found = Read(quarter, key, ReadMode::kMemoryOnly);
    EXPECT_EQ(found, Read(same, key, ReadMode::kMemoryOnly));
    if (found == Lookup::kCold) ++cold;
    if (found != Read(other, key, ReadMode::kMemoryOnly)) ++differs;
  }
  EXPECT_NEAR(cold, kKeys / 4, kKeys / 20);
  EXPECT_GT(differs, kKeys / 10);
}

TEST(ModelStore, InjectedFailureIsFinalUntilTheCrash) {
  ModelStore store;
  ASSERT_TRUE(store.Apply(PutOne("a", "1")).ok());
  store.FailWrites(DataLoss("the disk is gone"));
  EXPECT_EQ(store.Apply(PutOne("b", "1")).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store.Flush().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store.FlushSome(1), 0u);
  EXPECT_EQ(All(store), (Rows{{"a", "1"}}));
  store.Crash();
  EXPECT_TRUE(store.Apply(PutOne("b", "1")).ok());
  EXPECT_EQ(All(store), (Rows{{"b", "1"}}));
}

TEST(ModelStore, RowsGivenToScansAreCounted) {
  ModelStore store;
  Batch batch;
  for (int i = 0; i < 10; ++i) batch.Put(std::to_string(i), "");
  ASSERT_TRUE(store.Apply(batch).ok());
  const auto keep_all = [](std::string_view, std::string_view) { return true; };
  ASSERT_TRUE(store.Scan({.from = "0", .to = "9", .rows_max = 4}, keep_all).ok());
  EXPECT_EQ(store.rows_scanned(), 4u);
  ASSERT_TRUE(store.Scan({.from = "8", .to = "99", .rows_max = 4}, keep_all).ok());
  EXPECT_EQ(store.rows_scanned(), 6u);
}

TEST(ModelStore, VisitorMayUseTheStore) {
  ModelStore store;
  ASSERT_TRUE(store.Apply(PutOne("a", "1")).ok());
  Lookup found = Lookup::kAbsent;
  ASSERT_TRUE(store
                  .Scan({.from = "", .to = "z", .rows_max = 1},
                        [&](std::string_view key, std::string_view) {
                          found = Read(store, key, ReadMode::kBlocking);
                          return true;
                        })
                  .ok());
  EXPECT_EQ(found, Lookup::kFound);
}

}  // namespace
}  // namespace sluice::store
