// SPDX-License-Identifier: Apache-2.0
// Runs the store contract on RocksDB, and proves what only the real store has:
// how it opens, what a damaged file, a full disk and a failing sync do to it,
// and that drained ranges do not stay slow to scan.
#include "store/rocksdb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/rocksdb_status.h"
#include "store/scratch_dir.h"
#include "store/store_contract.h"

namespace sluice::store {
namespace {

using testing::HasSubstr;

std::unique_ptr<Store> MustOpen(const RocksDbOptions& options) {
  auto store = OpenRocksDb(options);
  SLUICE_CHECK(store.ok(), Message(store.status()));
  return *std::move(store);
}

/// Closing without a flush loses what a crash of the process loses.
class RocksDbBox final : public StoreBox {
 public:
  RocksDbBox() : store_(MustOpen({.path = Path()})) {}

  Store& store() override { return *store_; }
  void CrashAndReopen() override {
    store_.reset();
    store_ = MustOpen({.path = Path(), .create_if_missing = false});
  }
  std::string CheckpointDir() override { return dir_.path() + "/copy"; }
  StatusOr<std::unique_ptr<Store>> OpenCheckpoint(const std::string& dir) override {
    return OpenRocksDb({.path = dir, .create_if_missing = false});
  }

 private:
  std::string Path() const { return dir_.path() + "/store"; }

  ScratchDir dir_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(RocksDb, StoreContract,
                         testing::Values([] { return std::make_unique<RocksDbBox>(); }));

Batch PutOne(std::string_view key, std::string_view value) {
  Batch batch;
  batch.Put(key, value);
  return batch;
}

/// The real file system, whose table files fail as the test says.
class FaultyFiles final : public rocksdb::FileSystemWrapper {
 public:
  FaultyFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "FaultyFiles"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus status = target()->NewWritableFile(name, options, file, dbg);
    if (status.ok() && name.ends_with(".sst")) {
      *file = std::make_unique<File>(std::move(*file), this);
    }
    return status;
  }

  std::atomic<bool> is_full = false;
  std::atomic<bool> is_sync_failing = false;

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, const FaultyFiles* owner)
        : FSWritableFileOwnerWrapper(std::move(file)), owner_(owner) {}

    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override {
      if (owner_->is_full) return rocksdb::IOStatus::NoSpace("injected");
      return FSWritableFileOwnerWrapper::Append(data, options, dbg);
    }
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             const rocksdb::DataVerificationInfo& info,
                             rocksdb::IODebugContext* dbg) override {
      if (owner_->is_full) return rocksdb::IOStatus::NoSpace("injected");
      return FSWritableFileOwnerWrapper::Append(data, options, info, dbg);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
      if (owner_->is_sync_failing) return rocksdb::IOStatus::IOError("injected");
      return FSWritableFileOwnerWrapper::Sync(options, dbg);
    }

   private:
    const FaultyFiles* owner_;
  };
};

class RocksDbFaults : public testing::Test {
 protected:
  RocksDbFaults()
      : files_(std::make_shared<FaultyFiles>()),
        env_(rocksdb::NewCompositeEnv(files_)),
        store_(MustOpen({.path = dir_.path(), .env = env_.get()})) {}

  ScratchDir dir_;
  std::shared_ptr<FaultyFiles> files_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Store> store_;
};

TEST_F(RocksDbFaults, FullDiskIsNamedAndFinalAlsoWhenThereIsSpaceAgain) {
  ASSERT_TRUE(store_->Apply(PutOne("a", "1")).ok());
  ASSERT_TRUE(store_->Flush().ok());
  ASSERT_TRUE(store_->Apply(PutOne("a", "2")).ok());
  files_->is_full = true;
  const Status failed = store_->Flush();
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(failed)), HasSubstr("the disk is full"));
  EXPECT_THAT(std::string(Message(failed)), HasSubstr(dir_.path()));
  files_->is_full = false;
  EXPECT_EQ(store_->Apply(PutOne("b", "1")), failed);
  EXPECT_EQ(store_->Flush(), failed);
  EXPECT_EQ(store_->Checkpoint(dir_.path() + "/copy"), failed);
  EXPECT_EQ(store_->GetFlushed("a").value(), "1");

  store_.reset();
  store_ = MustOpen({.path = dir_.path(), .env = env_.get()});
  EXPECT_EQ(AllRows(*store_), (Rows{{"a", "1"}}));
  EXPECT_TRUE(store_->Apply(PutOne("b", "1")).ok());
  EXPECT_TRUE(store_->Flush().ok());
}

TEST_F(RocksDbFaults, FailedSyncIsFinal) {
  ASSERT_TRUE(store_->Apply(PutOne("a", "1")).ok());
  files_->is_sync_failing = true;
  EXPECT_EQ(store_->Flush().code(), absl::StatusCode::kInternal);
  files_->is_sync_failing = false;
  EXPECT_EQ(store_->Apply(PutOne("b", "1")).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(store_->Flush().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(store_->GetFlushed("a").value(), std::nullopt);
}

TEST_F(RocksDbFaults, BackgroundErrorFailsALaterApply) {
  store_.reset();
  store_ = MustOpen({.path = dir_.path(), .write_buffer_bytes = 64u << 10, .env = env_.get()});
  files_->is_full = true;
  // Memtables fill up and are flushed in the background; nobody calls Flush.
  constexpr int kBatchesMax = 100'000;
  Status status;
  for (int i = 0; i < kBatchesMax && status.ok(); ++i) {
    status = store_->Apply(PutOne(std::to_string(i), std::string(4096, 'x')));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Apply(PutOne("b", "1")), status);
}

TEST(RocksDbStore, MissingStoreIsNotFoundUnlessCreationIsWanted) {
  const ScratchDir dir;
  const RocksDbOptions options{.path = dir.path() + "/none", .create_if_missing = false};
  const auto store = OpenRocksDb(options);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(store.status())), HasSubstr(options.path));
  EXPECT_FALSE(std::filesystem::exists(options.path));
}

TEST(RocksDbStore, SecondOpenOfTheSameFolderIsRefused) {
  const ScratchDir dir;
  const auto first = MustOpen({.path = dir.path()});
  const auto second = OpenRocksDb({.path = dir.path()});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(second.status())), HasSubstr("open already"));
}

TEST(RocksDbStore, FlushOnCloseKeepsWhatAPlainCloseLoses) {
  const ScratchDir dir;
  const RocksDbOptions keeping{.path = dir.path(), .flush_on_close = true};
  MustOpen(keeping)->Apply(PutOne("a", "1")).IgnoreError();
  EXPECT_EQ(AllRows(*MustOpen(keeping)), (Rows{{"a", "1"}}));
  MustOpen({.path = dir.path()})->Apply(PutOne("b", "1")).IgnoreError();
  EXPECT_EQ(AllRows(*MustOpen(keeping)), (Rows{{"a", "1"}}));
}

TEST(RocksDbStore, FlippedByteInATableIsReportedAndNeverShown) {
  const ScratchDir dir;
  const std::string value(10'000, 'v');
  {
    const auto store = MustOpen({.path = dir.path()});
    ASSERT_TRUE(store->Apply(PutOne("k", value)).ok());
    ASSERT_TRUE(store->Flush().ok());
  }
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    if (entry.path().extension() != ".sst") continue;
    ++tables;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);  // within the value
    file.put('w');
  }
  ASSERT_EQ(tables, 1);
  const auto store = MustOpen({.path = dir.path()});
  std::string read;
  EXPECT_EQ(store->Get("k", ReadMode::kBlocking, &read).status().code(),
            absl::StatusCode::kDataLoss);
  const auto scanned = store->Scan({.from = "a", .to = "z", .rows_max = 10},
                                   [](std::string_view, std::string_view) { return true; });
  EXPECT_EQ(scanned.status().code(), absl::StatusCode::kDataLoss);
}

TEST(RocksDbStore, ColdKeyIsColdUntilABlockingReadOfIt) {
  const ScratchDir dir;
  {
    const auto store = MustOpen({.path = dir.path()});
    ASSERT_TRUE(store->Apply(PutOne("k", "v")).ok());
    ASSERT_TRUE(store->Flush().ok());
  }
  const auto store = MustOpen({.path = dir.path()});
  std::string value;
  EXPECT_EQ(store->Get("k", ReadMode::kMemoryOnly, &value).value(), Lookup::kCold);
  EXPECT_EQ(store->Get("k", ReadMode::kBlocking, &value).value(), Lookup::kFound);
  EXPECT_EQ(store->Get("k", ReadMode::kMemoryOnly, &value).value(), Lookup::kFound);
  ASSERT_TRUE(store->Apply(PutOne("fresh", "v")).ok());
  EXPECT_EQ(store->Get("fresh", ReadMode::kMemoryOnly, &value).value(), Lookup::kFound);
}

TEST(RocksDbStore, DrainedBacklogIsCompactedAwayUnasked) {
  constexpr int kRows = 100'000;
  const ScratchDir dir;
  const auto store = MustOpen({.path = dir.path()});
  Batch fill;
  Batch drain;
  for (int i = 0; i < kRows; ++i) {
    fill.Put(fmt::format("{:08}", i), "value");
    drain.Delete(fmt::format("{:08}", i));
  }
  ASSERT_TRUE(store->Apply(fill).ok());
  ASSERT_TRUE(store->Flush().ok());
  ASSERT_GT(store->Usage().disk_bytes, static_cast<std::uint64_t>(kRows));
  ASSERT_TRUE(store->Apply(drain).ok());
  ASSERT_TRUE(store->Flush().ok());
  // A wait in vain is ended by the test's time limit.
  while (store->Usage().disk_bytes > 0) std::this_thread::yield();
}

TEST(RocksDbStore, MemoryStaysWithinItsBudget) {
  constexpr std::uint64_t kCache = 1u << 20;
  constexpr std::uint64_t kBuffer = 1u << 20;
  constexpr std::uint64_t kBudget = kCache + 2 * kBuffer;
  constexpr int kRows = 20'000;  // 20 MB
  const ScratchDir dir;
  const auto store =
      MustOpen({.path = dir.path(), .block_cache_bytes = kCache, .write_buffer_bytes = kBuffer});
  const std::string value(1024, 'x');
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE(store->Apply(PutOne(fmt::format("{:08}", i), value)).ok());
  }
  ASSERT_TRUE(store->Flush().ok());
  std::string read;
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(store->Get(fmt::format("{:08}", i), ReadMode::kBlocking, &read).value(),
              Lookup::kFound);
  }
  EXPECT_GE(store->Usage().disk_bytes, kRows * value.size());
  // Pinned filters and table readers come on top, far below a second budget.
  EXPECT_LE(store->Usage().memory_bytes, 2 * kBudget);
}

TEST(RocksDbStatus, CodesSayWhatTheCallerMayDo) {
  using rocksdb::Status;
  EXPECT_TRUE(FromRocksDb(Status::OK(), "x").ok());
  EXPECT_EQ(FromRocksDb(Status::NoSpace(), "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FromRocksDb(Status::SpaceLimit(), "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FromRocksDb(Status::Corruption("c"), "x").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(FromRocksDb(Status::IOError("e"), "x").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Message(FromRocksDb(Status::IOError("e"), "store s: flushing failed")),
            "store s: flushing failed: IO error: e");
}

}  // namespace
}  // namespace sluice::store
