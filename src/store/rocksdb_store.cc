// SPDX-License-Identifier: Apache-2.0
#include "store/rocksdb_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "store/rocksdb_options.h"
#include "store/rocksdb_status.h"

namespace sluice::store {
namespace {

rocksdb::Slice ToSlice(std::string_view v) { return {v.data(), v.size()}; }
std::string_view ToView(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

/// Keeps the first failure for good, from whichever thread it comes.
class FailureLatch final : public rocksdb::EventListener {
 public:
  explicit FailureLatch(std::string path) : path_(std::move(path)) {}

  /// Turns a failed call into our status and makes it final.
  Status Latch(const rocksdb::Status& status, std::string_view doing) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = FromRocksDb(status, fmt::format("store {}: {}", path_, doing));
    has_failed_.store(true, std::memory_order_release);
    return failure_;
  }

  [[nodiscard]] Status Check() const {
    if (!has_failed_.load(std::memory_order_acquire)) return absl::OkStatus();
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    IgnoreError(Latch(*error, "background work failed"), "the next call reports it");
  }

  /// RocksDB would wait for space and go on; what the page cache holds by then
  /// is unknown, so we never do.
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* is_auto_recovery) override {
    *is_auto_recovery = false;
  }

 private:
  const std::string path_;
  std::atomic<bool> has_failed_ = false;
  mutable std::mutex mutex_;  // guards failure_
  Status failure_;
};

class ToWriteBatch final : public Batch::Visitor {
 public:
  explicit ToWriteBatch(rocksdb::WriteBatch* out) : out_(out) {}

  void Put(std::string_view key, std::string_view value) override {
    Note(out_->Put(ToSlice(key), ToSlice(value)));
  }
  void Delete(std::string_view key) override { Note(out_->Delete(ToSlice(key))); }
  void DeleteRange(std::string_view from, std::string_view to) override {
    Note(out_->DeleteRange(ToSlice(from), ToSlice(to)));
  }

  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  void Note(const rocksdb::Status& status) {
    if (status_.ok()) status_ = status;
  }

  rocksdb::WriteBatch* out_;
  rocksdb::Status status_;
};

class RocksDbStore final : public Store {
 public:
  RocksDbStore(std::string path, std::shared_ptr<FailureLatch> latch,
               std::unique_ptr<rocksdb::DB> db, std::shared_ptr<rocksdb::Cache> cache)
      : path_(std::move(path)),
        latch_(std::move(latch)),
        cache_(std::move(cache)),
        db_(std::move(db)) {
    write_options_.disableWAL = true;
  }

  Status Apply(const Batch& batch) override {
    SLUICE_RETURN_IF_ERROR(latch_->Check());
    scratch_.Clear();
    ToWriteBatch convert(&scratch_);
    SLUICE_RETURN_IF_ERROR(batch.Visit(convert));
    rocksdb::Status status = convert.status();
    if (status.ok()) status = db_->Write(write_options_, &scratch_);
    return status.ok() ? absl::OkStatus() : latch_->Latch(status, "applying a batch failed");
  }

  StatusOr<Lookup> Get(std::string_view key, ReadMode mode, std::string* value) const override {
    rocksdb::ReadOptions read;
    if (mode == ReadMode::kMemoryOnly) read.read_tier = rocksdb::kBlockCacheTier;
    rocksdb::PinnableSlice pinned;
    const rocksdb::Status status =
        db_->Get(read, db_->DefaultColumnFamily(), ToSlice(key), &pinned);
    if (status.ok()) {
      value->assign(pinned.data(), pinned.size());
      return Lookup::kFound;
    }
    if (status.IsNotFound()) return Lookup::kAbsent;
    if (status.IsIncomplete() && mode == ReadMode::kMemoryOnly) return Lookup::kCold;
    return FromRocksDb(status, fmt::format("store {}: reading a key failed", path_));
  }

  StatusOr<bool> Scan(const ScanRange& range, const RowVisitor& visit) const override {
    SLUICE_CHECK(range.rows_max > 0, "a scan needs a bound on its rows");
    if (range.from >= range.to) return true;
    const rocksdb::Slice upper = ToSlice(range.to);
    rocksdb::ReadOptions read;
    read.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read));
    std::size_t rows = 0;
    std::size_t bytes = 0;
    for (it->Seek(ToSlice(range.from)); it->Valid(); it->Next()) {
      const std::string_view key = ToView(it->key());
      const std::string_view value = ToView(it->value());
      const std::size_t row_bytes = key.size() + value.size();
      if (rows == range.rows_max) return false;
      if (range.bytes_max != 0 && rows > 0 && bytes + row_bytes > range.bytes_max) return false;
      ++rows;
      bytes += row_bytes;
      if (!visit(key, value)) return false;
    }
    SLUICE_RETURN_IF_ERROR(
        FromRocksDb(it->status(), fmt::format("store {}: scanning failed", path_)));
    return true;
  }

  Status Flush() override {
    SLUICE_RETURN_IF_ERROR(latch_->Check());
    rocksdb::FlushOptions flush;
    flush.wait = true;
    flush.allow_write_stall = true;  // the caller's thread is the writer; it waits anyway
    const rocksdb::Status status = db_->Flush(flush);
    return status.ok() ? latch_->Check() : latch_->Latch(status, "flushing failed");
  }

  StatusOr<std::optional<std::string>> GetFlushed(std::string_view key) const override {
    rocksdb::ReadOptions read;
    read.read_tier = rocksdb::kPersistedTier;  // skips memtables, as nothing is in a WAL
    std::string value;
    const rocksdb::Status status = db_->Get(read, ToSlice(key), &value);
    if (status.ok()) return std::optional<std::string>(std::move(value));
    if (status.IsNotFound()) return std::optional<std::string>();
    return FromRocksDb(status, fmt::format("store {}: reading a flushed key failed", path_));
  }

  Status Checkpoint(const std::string& dir) override {
    SLUICE_RETURN_IF_ERROR(latch_->Check());
    const std::string what = fmt::format("store {}: checkpoint into {}", path_, dir);
    if (db_->GetEnv()->FileExists(dir).ok()) return AlreadyExists("{}: it exists", what);
    rocksdb::Checkpoint* raw = nullptr;
    SLUICE_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_.get(), &raw), what));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    return FromRocksDb(checkpoint->CreateCheckpoint(dir, /*log_size_for_flush=*/0), what);
  }

  [[nodiscard]] StoreUsage Usage() const override {
    StoreUsage usage;
    usage.memory_bytes =
        cache_->GetUsage() + Number(rocksdb::DB::Properties::kEstimateTableReadersMem);
    usage.disk_bytes = Number(rocksdb::DB::Properties::kTotalSstFilesSize);
    // An empty memtable has a size too, which is nothing that a crash would lose.
    const bool is_empty = Number(rocksdb::DB::Properties::kNumEntriesActiveMemTable) == 0 &&
                          Number(rocksdb::DB::Properties::kNumDeletesActiveMemTable) == 0 &&
                          Number(rocksdb::DB::Properties::kNumImmutableMemTable) == 0;
    if (!is_empty) {
      usage.unflushed_bytes = Number(rocksdb::DB::Properties::kCurSizeAllMemTables);
    }
    return usage;
  }

 private:
  std::uint64_t Number(const std::string& property) const {
    std::uint64_t value = 0;
    return db_->GetIntProperty(property, &value) ? value : 0;
  }

  const std::string path_;
  // The latch is shared with RocksDB's threads, the cache with its tables; both
  // are dropped last by the database, which is closed first.
  const std::shared_ptr<FailureLatch> latch_;
  const std::shared_ptr<rocksdb::Cache> cache_;
  rocksdb::WriteOptions write_options_;
  rocksdb::WriteBatch scratch_;  // reused by Apply, which one thread calls at a time
  const std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenRocksDb(const RocksDbOptions& options) {
  auto latch = std::make_shared<FailureLatch>(options.path);
  rocksdb::Options rocks = TunedOptions(options);
  rocks.listeners.push_back(latch);
  rocksdb::Env* const env = rocks.env;
  const std::string what = fmt::format("store {}: opening failed", options.path);
  if (!options.create_if_missing && env->FileExists(options.path + "/CURRENT").IsNotFound()) {
    return NotFound("{}: there is no store", what);
  }
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(rocks, options.path, &raw);
  if (!status.ok()) {
    // RocksDB reports a lock that is held as an I/O error on the LOCK file.
    const bool is_locked =
        status.IsIOError() && status.ToString().find("/LOCK:") != std::string::npos;
    if (is_locked) {
      return FailedPrecondition("{}: it is open already, here or in another process: {}", what,
                                status.ToString());
    }
    return FromRocksDb(status, what);
  }
  std::unique_ptr<rocksdb::DB> db(raw);
  const auto* table = rocks.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  SLUICE_CHECK(table != nullptr, "the table factory is block based");
  return std::make_unique<RocksDbStore>(options.path, std::move(latch), std::move(db),
                                        table->block_cache);
}

}  // namespace sluice::store
