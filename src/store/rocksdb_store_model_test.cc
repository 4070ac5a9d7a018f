// SPDX-License-Identifier: Apache-2.0
// Runs RocksDB beside the model under random batches, reads, scans, flushes and
// reopenings, and demands equal answers. What RocksDB flushed by itself is its
// own choice: after a reopening the model is brought to the position RocksDB
// kept, which must lie between the last flush and the last batch.
#include <gtest/gtest.h>

#include <random>

#include "store/all_rows.h"
#include "store/model_store.h"
#include "store/random_batch.h"
#include "store/rocksdb_store.h"
#include "store/scratch_dir.h"
#include "store/soak.h"

namespace sluice::store {
namespace {

constexpr int kRoundsNormal = 6;
constexpr int kStepsPerRound = 1500;
constexpr std::size_t kValueBytesMax = 1500;

class Pair {
 public:
  explicit Pair(std::uint64_t seed) : seed_(seed), is_flushing_alone_(seed % 2 == 1), rng_(seed) {
    // Odd seeds fill memtables all the time, so that background flushes and
    // compactions take part; even ones leave every flush to the test.
    options_.path = dir_.path();
    options_.write_buffer_bytes = is_flushing_alone_ ? 64u << 10 : 16u << 20;
    options_.block_cache_bytes = seed % 3 == 0 ? 64u << 10 : 4u << 20;
    Open();
  }

  void Step() {
    const auto dice = rng_() % 100;
    if (dice < 50) return ApplyOne();
    if (dice < 75) return CompareGet();
    if (dice < 94) return CompareScan();
    if (dice < 97) return Flush();
    if (dice < 99) return CompareFlushed();
    Reopen();
  }

  void CompareAll() { ASSERT_EQ(AllRows(*rocks_), AllRows(model_)); }

 private:
  void Open() {
    auto store = OpenRocksDb(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    rocks_ = *std::move(store);
  }

  void ApplyOne() {
    const Batch batch = RandomBatch(seed_, ++applied_, kValueBytesMax);
    ASSERT_TRUE(rocks_->Apply(batch).ok());
    ASSERT_TRUE(model_.Apply(batch).ok());
  }

  void CompareGet() {
    const std::string key = RandomKey(rng_);
    std::string from_rocks;
    std::string from_model;
    const ReadMode mode = rng_() % 2 == 0 ? ReadMode::kBlocking : ReadMode::kMemoryOnly;
    const auto rocks = rocks_->Get(key, mode, &from_rocks);
    const auto model = model_.Get(key, ReadMode::kBlocking, &from_model);
    ASSERT_TRUE(rocks.ok() && model.ok());
    if (mode == ReadMode::kMemoryOnly && *rocks == Lookup::kCold) return;
    ASSERT_EQ(*rocks, *model) << key;
    ASSERT_EQ(from_rocks, from_model) << key;
  }

  void CompareScan() {
    ScanRange range;
    range.from = RandomKey(rng_);
    range.to = RandomKey(rng_);
    if (rng_() % 8 != 0 && range.to < range.from) std::swap(range.from, range.to);
    range.rows_max = 1 + rng_() % 50;
    range.bytes_max = rng_() % 3 == 0 ? 0 : rng_() % 20'000;
    const auto rows_stop = 1 + rng_() % 80;
    const auto read = [&](const Store& store, bool* is_end) {
      Rows rows;
      const auto result = store.Scan(range, [&](std::string_view key, std::string_view value) {
        rows.emplace(key, value);
        return rows.size() < rows_stop;
      });
      EXPECT_TRUE(result.ok()) << result.status();
      *is_end = result.ok() && *result;
      return rows;
    };
    bool rocks_end = false;
    bool model_end = false;
    const Rows from_rocks = read(*rocks_, &rocks_end);
    ASSERT_EQ(from_rocks, read(model_, &model_end));
    ASSERT_EQ(rocks_end, model_end);
  }

  void Flush() {
    ASSERT_TRUE(rocks_->Flush().ok());
    ASSERT_TRUE(model_.Flush().ok());
    flushed_ = applied_;
    CompareFlushed();
  }

  void CompareFlushed() {
    const std::uint64_t position = FlushedPosition();
    ASSERT_GE(position, flushed_);
    ASSERT_LE(position, applied_);
    if (is_flushing_alone_) {
      if (position != flushed_) return;  // a state the model does not have
    } else {
      ASSERT_EQ(position, flushed_);
    }
    const std::string key = RandomKey(rng_);
    const auto rocks = rocks_->GetFlushed(key);
    const auto model = model_.GetFlushed(key);
    ASSERT_TRUE(rocks.ok() && model.ok());
    if (FlushedPosition() != flushed_) return;  // it did so just now
    ASSERT_EQ(*rocks, *model) << key;
  }

  std::uint64_t FlushedPosition() {
    const auto value = rocks_->GetFlushed(kMetaKey);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() && value->has_value() ? PositionIn(**value) : 0;
  }

  void Reopen() {
    rocks_.reset();
    Open();
    const std::uint64_t kept = FlushedPosition();
    ASSERT_GE(kept, flushed_);
    ASSERT_LE(kept, applied_);
    model_.Crash();
    for (std::uint64_t position = flushed_ + 1; position <= kept; ++position) {
      ASSERT_TRUE(model_.Apply(RandomBatch(seed_, position, kValueBytesMax)).ok());
    }
    ASSERT_TRUE(model_.Flush().ok());
    applied_ = flushed_ = kept;
    CompareAll();
  }

  const std::uint64_t seed_;
  const bool is_flushing_alone_;
  std::mt19937_64 rng_;
  ScratchDir dir_;
  RocksDbOptions options_;
  std::unique_ptr<Store> rocks_;
  ModelStore model_;
  std::uint64_t applied_ = 0;  // last batch applied to both
  std::uint64_t flushed_ = 0;  // last batch that was asked to be durable
};

TEST(RocksDbStoreModel, AnswersAreThoseOfTheModel) {
  const int rounds = RoundsOr(kRoundsNormal);
  for (int seed = 1; seed <= rounds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Pair pair(static_cast<std::uint64_t>(seed));
    for (int step = 0; step < kStepsPerRound && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      pair.Step();
    }
    if (testing::Test::HasFatalFailure()) return;
    pair.CompareAll();
  }
}

}  // namespace
}  // namespace sluice::store
