// SPDX-License-Identifier: Apache-2.0
// The rules of design section 4 that keep log and store true, each with the
// crash that would break it. Rules 3 and 4 (frames, damage against a torn tail)
// live in log/, rule 2 also in lane_test.cc, rule 8 in backup_test.cc; the
// simulation and the kill rounds meet all of them at random.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "engine/committer.h"
#include "engine/recovery.h"
#include "env/sim/file_system.h"
#include "store/all_rows.h"
#include "store/keys.h"
#include "store/model_store.h"

namespace sluice::engine {
namespace {

constexpr char kDir[] = "log";
constexpr Duration kLong = absl::Seconds(60);

log::Options SmallSegments() {
  log::Options options;
  options.segment_bytes_first = 4096;
  options.segment_bytes = 4096;
  return options;
}

CommitterOptions QuietCommitter() {
  CommitterOptions options;
  options.seal_after_idle = kLong;
  return options;
}

store::Batch Row(int number) {
  store::Batch batch;
  batch.Put(fmt::format("row{:04}", number), std::string(300, 'v'));
  return batch;
}

Frame FrameOf(FrameNumber number) {
  Frame frame;
  frame.number = number;
  frame.checkpoint.next_sequence = number + 1;
  frame.batch = Row(static_cast<int>(number));
  return frame;
}

class CrashRules : public testing::Test {
 protected:
  CrashRules() : disk_(7) { EXPECT_TRUE(disk_.CreateDirectory(kDir).ok()); }

  void Open() {
    inbox_.Close();  // nobody sends commands here, and so every answer wakes
    StatusOr<Recovered> recovered = Recover(disk_, kDir, SmallSegments(), store_, 1);
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    log_ = std::move(recovered->log);
  }

  // Waits for the answer that says `frame` was applied.
  void AwaitApplied(FrameNumber frame) {
    for (FrameNumber applied = 0; applied < frame;) {
      for (const Answer& answer : inbox_.Take(1, kLong).answers) {
        if (const auto* a = std::get_if<Applied>(&answer)) applied = a->frame;
      }
    }
  }

  void AwaitCommitted() {
    while (true) {
      for (const Answer& answer : inbox_.Take(1, kLong).answers) {
        if (std::holds_alternative<Committed>(answer)) return;
      }
    }
  }

  env::SimFileSystem disk_;
  store::ModelStore store_;
  std::unique_ptr<log::Log> log_;
  Inbox inbox_{10, 1 << 20};
};

// Holds every sync of the disk until it is let go.
class SyncGate {
 public:
  void Attach(env::SimFileSystem& disk) {
    disk.SetHook([this](env::SimOperation operation, const std::string&) {
      if (operation != env::SimOperation::kSyncData) return;
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return is_open_; });
    });
  }
  void AwaitSync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool is_open_ = false;
};

TEST_F(CrashRules, Rule1TheStoreGetsAFrameOnlyAfterItsSyncReturned) {
  Open();
  SyncGate gate;
  {
    Committer committer(QuietCommitter(), *log_, store_, inbox_, nullptr, kDir);
    gate.Attach(disk_);
    committer.Commit(FrameOf(1));
    gate.AwaitSync();
    EXPECT_TRUE(store::AllRows(store_).empty()) << "a kill now would leave the store ahead";
    gate.Open();
    AwaitApplied(1);
    EXPECT_FALSE(store::AllRows(store_).empty());
  }
}

TEST_F(CrashRules, Rule1AStoreAheadOfTheLogIsRefusedLoudly) {
  Open();
  ASSERT_TRUE(log_->Append(EncodeFrame({}, Row(1).bytes())).ok());
  ASSERT_TRUE(log_->Sync().ok());
  log_.reset();
  ASSERT_TRUE(store_.Apply(BatchForStore(Row(1), {}, log::Position{1} << 40)).ok());
  const Status status = Recover(disk_, kDir, SmallSegments(), store_, 1).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(CrashRules, Rule2TheLaneHearsOfAFrameOnlyAfterItsSyncReturned) {
  Open();
  SyncGate gate;
  Committer committer(QuietCommitter(), *log_, store_, inbox_, nullptr, kDir);
  gate.Attach(disk_);
  committer.Commit(FrameOf(1));
  gate.AwaitSync();
  EXPECT_TRUE(inbox_.Take(1, absl::ZeroDuration()).answers.empty());
  gate.Open();
  AwaitCommitted();
}

TEST_F(CrashRules, Rule2APowerCutAfterTheSyncLosesNothingOfTheFrame) {
  Open();
  ASSERT_TRUE(log_->Append(EncodeFrame({}, Row(1).bytes())).ok());
  ASSERT_TRUE(log_->Sync().ok());  // here replies and attempts may leave
  log_.reset();
  disk_.Crash();
  store_.Crash();
  Open();
  EXPECT_TRUE(store::AllRows(store_).contains("row0001"));
}

TEST_F(CrashRules, Rule5AFailedSyncEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Open();
        Committer committer(QuietCommitter(), *log_, store_, inbox_, nullptr, kDir);
        disk_.FailAfter(env::SimOperation::kSyncData, 1);
        committer.Commit(FrameOf(1));
        AwaitCommitted();  // never: the process ends first
      },
      testing::ExitedWithCode(1),
      "FATAL: (syncing|appending to) the log");  // or the sync of the segment made ahead
}

TEST_F(CrashRules, Rule5AStoreThatCannotWriteEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Open();
        Committer committer(QuietCommitter(), *log_, store_, inbox_, nullptr, kDir);
        store_.FailWrites(Internal("the disk says no"));
        committer.Commit(FrameOf(1));
        AwaitApplied(1);  // never: the process ends first
      },
      testing::ExitedWithCode(1), "FATAL: writing to the store");
}

TEST_F(CrashRules, Rule6DroppedSegmentsAreNeverNeededAgain) {
  constexpr FrameNumber kFrames = 60;  // many segments of 4 KiB
  Open();
  {
    CommitterOptions options = QuietCommitter();
    Committer committer(options, *log_, store_, inbox_, nullptr, kDir);
    for (FrameNumber n = 1; n <= kFrames; ++n) {
      committer.Commit(FrameOf(n));
      AwaitApplied(n);
    }
    committer.Stop();  // flushes, then lets go of what the flush covers
  }
  const std::uint64_t segments = log_->usage().segments;
  log_.reset();
  EXPECT_LT(segments, 6u) << "flushed segments are dropped";
  disk_.Crash();
  store_.Crash();
  Open();
  EXPECT_EQ(store::AllRows(store_).size(), kFrames + 1) << "every row and the meta record";
}

TEST_F(CrashRules, Rule6UnflushedSegmentsStay) {
  constexpr FrameNumber kFrames = 30;
  Open();
  std::vector<log::Position> positions;
  for (FrameNumber n = 1; n <= kFrames; ++n) {
    const Frame frame = FrameOf(n);
    const auto position = log_->Append(EncodeFrame(frame.checkpoint, frame.batch.bytes()));
    ASSERT_TRUE(position.ok() && log_->Sync().ok());
    ASSERT_TRUE(store_.Apply(BatchForStore(frame.batch, frame.checkpoint, *position)).ok());
    positions.push_back(*position);
    if (n == kFrames / 2) {
      ASSERT_TRUE(store_.Flush().ok());
      ASSERT_TRUE(log_->DropBefore(*position).ok());
    }
  }
  log_.reset();
  disk_.Crash();
  store_.Crash();  // back to the flush
  Open();
  EXPECT_EQ(store::AllRows(store_).size(), kFrames + 1);
}

TEST_F(CrashRules, Rule7TheSameFramesAtOtherPositionsGiveTheSameState) {
  constexpr FrameNumber kFrames = 20;
  std::vector<std::string> payloads;
  for (FrameNumber n = 1; n <= kFrames; ++n) {
    const Frame frame = FrameOf(n);
    payloads.push_back(EncodeFrame(frame.checkpoint, frame.batch.bytes()));
  }
  const auto state_of = [&](std::uint64_t segment_bytes, const std::string& dir) {
    EXPECT_TRUE(disk_.CreateDirectory(dir).ok());
    log::Options options;
    options.segment_bytes_first = segment_bytes;
    options.segment_bytes = segment_bytes;
    store::ModelStore store;
    {
      StatusOr<Recovered> fresh = Recover(disk_, dir, options, store, 1);
      EXPECT_TRUE(fresh.ok()) << fresh.status();
      for (const std::string& payload : payloads) {
        EXPECT_TRUE(fresh->log->Append(payload).ok() && fresh->log->Sync().ok());
      }
    }
    EXPECT_TRUE(Recover(disk_, dir, options, store, 1).ok());
    store::Rows rows = store::AllRows(store);
    EXPECT_EQ(rows.erase(std::string(store::kMetaKey)), 1u) << "the only record with a position";
    return rows;
  };
  const store::Rows small = state_of(4096, "small");
  EXPECT_EQ(small, state_of(1u << 20, "large"));
  EXPECT_EQ(small.size(), kFrames);
}

TEST_F(CrashRules, ReplayingTwiceIsReplayingOnce) {
  Open();
  for (FrameNumber n = 1; n <= 5; ++n) {
    const Frame frame = FrameOf(n);
    ASSERT_TRUE(log_->Append(EncodeFrame(frame.checkpoint, frame.batch.bytes())).ok());
    ASSERT_TRUE(log_->Sync().ok());
  }
  log_.reset();
  Open();
  const store::Rows once = store::AllRows(store_);
  log_.reset();
  store_.Crash();  // nothing was flushed: everything is replayed again
  Open();
  EXPECT_EQ(store::AllRows(store_), once);
}

}  // namespace
}  // namespace sluice::engine
