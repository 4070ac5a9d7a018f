// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store of the simulator and of tests: an ordered map whose durability is
// a decision of the test. A flush happens only where it is called, may cover
// only a prefix of the applied batches, and a crash loses all the rest, which
// is exactly what the real store may do. It also makes cold reads happen, on
// keys a seed chooses. It has no files.
//
// Threading: as `Store` says. The simulated-disk methods count as writes.
// Failure: none of its own; `FailWrites` plays the final error of a real disk.

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace sluice::store {

struct ModelStoreOptions {
  std::uint64_t seed = 0;
  /// Which share of all keys (also absent ones) a kMemoryOnly read calls cold
  /// until a kBlocking read of that key; from 0 to 1. A crash cools them again.
  double cold_fraction = 0;
};

class ModelStore final : public Store {
 public:
  explicit ModelStore(ModelStoreOptions options = {});
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  Status Apply(const Batch& batch) override;
  StatusOr<Lookup> Get(std::string_view key, ReadMode mode, std::string* value) const override;
  StatusOr<bool> Scan(const ScanRange& range, const RowVisitor& visit) const override;
  Status Flush() override;
  StatusOr<std::optional<std::string>> GetFlushed(std::string_view key) const override;
  /// Errors: UNIMPLEMENTED always: it has no files.
  Status Checkpoint(const std::string& dir) override;
  [[nodiscard]] StoreUsage Usage() const override;

  /// Makes a prefix of the unflushed batches durable: none, some or all, as
  /// `random` (any number from the test's generator) decides. Returns how many.
  std::size_t FlushSome(std::uint64_t random);
  /// Loses every batch after the last flushed one, and an injected failure.
  void Crash();
  /// From now on every Apply and Flush fails with `status`; requires an error.
  void FailWrites(Status status);

  /// Batches applied but not durable.
  [[nodiscard]] std::size_t unflushed_count() const;
  /// Rows given to scans since the start: the work that scans did.
  [[nodiscard]] std::uint64_t rows_scanned() const { return rows_scanned_; }

 private:
  friend class ModelApplier;

  /// How to take one batch back: the values before it, oldest change first.
  struct Undo {
    std::vector<std::pair<std::string, std::optional<std::string>>> values;
    std::size_t bytes = 0;  // of the batch
  };

  void DropUndo(std::size_t count);
  bool IsColdByNature(std::string_view key) const;

  const ModelStoreOptions options_;
  mutable std::atomic<std::uint64_t> rows_scanned_ = 0;

  mutable std::mutex mutex_;  // guards everything below; never held while a visitor runs
  std::map<std::string, std::string, std::less<>> rows_;
  std::deque<Undo> unflushed_;  // oldest batch first
  std::size_t row_bytes_ = 0;
  std::size_t unflushed_bytes_ = 0;
  mutable std::set<std::string, std::less<>> warmed_;  // cold by nature, but read since
  std::optional<Status> failure_;
};

}  // namespace sluice::store
