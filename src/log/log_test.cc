// SPDX-License-Identifier: Apache-2.0
// Proves what the log promises its user, one promise a test, on the model disk;
// and once on the real disk with the real background thread.
#include "log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "env/executor.h"
#include "env/posix/file_system.h"
#include "env/posix/thread_executor.h"
#include "env/virtual_clock.h"
#include "log/log_testing.h"

namespace sluice::log {
namespace {

using env::SimFileSystem;
using env::SimOperation;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 100;
/// Three of these fill a small segment.
const std::string kThird(1100, 't');

TEST(Log, FirstStartReplaysNothingAndKeepsAReserve) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_TRUE(opened.replayed.empty());
  EXPECT_EQ(opened.report.end, kBeginning);
  const Usage usage = opened.log->usage();
  EXPECT_EQ(usage.segments, 2u);
  EXPECT_EQ(usage.bytes, 2 * 8192u);
  EXPECT_EQ(usage.first, kBeginning);
  EXPECT_FALSE(usage.is_space_low);
}

TEST(Log, ReplayGivesTheFramesAfterAppliedInOrder) {
  const auto fs = MakeDisk(1);
  std::vector<Replayed> written;
  {
    const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    for (const char* payload : {"one", "", "three"}) {
      written.push_back(MustAppend(*opened.log, payload));
    }
  }
  EXPECT_LT(written[0].position, written[1].position);
  EXPECT_LT(written[1].position, written[2].position);
  EXPECT_EQ(OpenLog(*fs, kBeginning, SmallOptions()).replayed, written);
  const Opened opened = OpenLog(*fs, written[0].position, SmallOptions());
  EXPECT_THAT(opened.replayed, ElementsAre(written[1], written[2]));
  EXPECT_EQ(opened.report.frames_replayed, 2u);
  EXPECT_EQ(opened.report.bytes_replayed, 5u);
  EXPECT_EQ(opened.report.end, written[2].position);
  EXPECT_EQ(opened.log->usage().end, written[2].position);
  EXPECT_TRUE(OpenLog(*fs, written[2].position, SmallOptions()).replayed.empty());
}

TEST(Log, PositionsGrowOverRestartsAndSegments) {
  const auto fs = MakeDisk(1);
  std::vector<Replayed> written;
  for (int life = 0; life < 4; ++life) {
    const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    ASSERT_EQ(opened.replayed, written);
    for (int i = 0; i < 4; ++i) {
      written.push_back(MustAppend(*opened.log, kThird));
      if (written.size() > 1) {
        ASSERT_LT(written[written.size() - 2].position, written.back().position);
      }
    }
  }
  EXPECT_GT(OpenLog(*fs, kBeginning, SmallOptions()).log->usage().segments, 4u);
}

TEST(Log, FramesLargerThanASegmentGetOneOfTheirOwnSize) {
  const auto fs = MakeDisk(1);
  Options options = SmallOptions();
  std::vector<Replayed> written;
  {
    const Opened opened = OpenLog(*fs, kBeginning, options);
    written.push_back(MustAppend(*opened.log, std::string(options.frame_bytes_max, 'x')));
    written.push_back(MustAppend(*opened.log, "small"));
    written.push_back(MustAppend(*opened.log, std::string(20'000, 'y')));
    EXPECT_EQ(opened.log->Append(std::string(options.frame_bytes_max + 1, 'z')).status().code(),
              absl::StatusCode::kInvalidArgument);
    written.push_back(MustAppend(*opened.log, "the refused one changed nothing"));
  }
  fs->Crash();
  EXPECT_EQ(OpenLog(*fs, kBeginning, options).replayed, written);
}

TEST(Log, SegmentsDoubleUpToTheirFullSize) {
  const auto fs = MakeDisk(1);
  Options options = SmallOptions();
  options.segment_bytes = 20'000;  // rounded up to whole pages
  const Opened opened = OpenLog(*fs, kBeginning, options);
  while (opened.log->usage().segments < 5) MustAppend(*opened.log, kThird);
  std::vector<std::uint64_t> sizes;
  for (const auto& [name, content] : ReadFiles(*fs)) sizes.push_back(content.size());
  EXPECT_THAT(sizes, ElementsAre(8192, 16384, 20480, 20480, 20480));
}

TEST(Log, AnUnsyncedFrameIsKeptWholeOrCutAndReported) {
  int kept = 0;
  int cut = 0;
  int vanished = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto fs = MakeDisk(seed);
    Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    std::vector<Replayed> written = {MustAppend(*opened.log, "synced")};
    const StatusOr<Position> position = opened.log->Append(kThird);
    ASSERT_TRUE(position.ok());
    fs->Crash();
    opened = OpenLog(*fs, kBeginning, SmallOptions());
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    if (opened.replayed.size() == 2) {
      ++kept;
      written.push_back(Replayed{*position, kThird});
    } else if (opened.report.bytes_cut > 0) {
      ++cut;
      EXPECT_THAT(opened.report.cut_reason, HasSubstr("0000000001.log"));
      EXPECT_LE(opened.report.bytes_cut, 1144u);
    } else {
      ++vanished;
    }
    ASSERT_EQ(opened.replayed, written) << "seed " << seed;
    // Whatever happened, the log goes on, and the next start has nothing to cut.
    written.push_back(MustAppend(*opened.log, "after"));
    fs->Crash();
    opened = OpenLog(*fs, kBeginning, SmallOptions());
    ASSERT_EQ(opened.replayed, written) << "seed " << seed;
    EXPECT_EQ(opened.report.bytes_cut, 0u);
    EXPECT_TRUE(opened.report.warnings.empty());
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(cut, 0);
  EXPECT_GT(vanished, 0);
}

TEST(Log, NoBytesOfACutFrameAreLeft) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto fs = MakeDisk(seed);
    Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    MustAppend(*opened.log, "synced");
    ASSERT_TRUE(opened.log->Append(kThird).ok());
    fs->Crash();
    opened = OpenLog(*fs, kBeginning, SmallOptions());
    ASSERT_TRUE(opened.status.ok());
    if (!opened.replayed.empty() && opened.replayed.back().payload == kThird) continue;
    fs->Crash();
    for (const auto& [name, content] : ReadFiles(*fs)) {
      EXPECT_EQ(content.find('t'), std::string::npos) << "seed " << seed << " " << name;
    }
  }
}

TEST(Log, WhatAKilledProcessLeftInTheCacheIsMadeDurableBeforeReplay) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto fs = MakeDisk(seed);
    Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    MustAppend(*opened.log, "first");
    // Its sync fails: some of its sectors will never reach the disk by themselves,
    // although every read shows them.
    ASSERT_TRUE(opened.log->Append(kThird).ok());
    fs->FailAfter(SimOperation::kSyncData, 1);
    ASSERT_FALSE(opened.log->Sync().ok());
    fs->Kill();
    std::vector<Replayed> replayed;
    RecoveryReport report;
    const auto crash_at_second = [&](Position position, std::string_view payload) {
      replayed.push_back(Replayed{position, std::string(payload)});
      if (replayed.size() == 2) fs->Crash();  // while the store applies it
      return absl::OkStatus();
    };
    IgnoreError(Log::Open(*fs, kDir, SmallOptions(), kBeginning, crash_at_second, &report).status(),
                "the power went");
    ASSERT_EQ(replayed.size(), 2u);
    ASSERT_EQ(OpenLog(*fs, kBeginning, SmallOptions()).replayed, replayed) << "seed " << seed;
  }
}

TEST(Log, ASealIsWrittenOnceAndReported) {
  const auto fs = MakeDisk(1);
  Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  std::uint64_t before = fs->operations();
  ASSERT_TRUE(opened.log->Seal().ok());
  EXPECT_EQ(fs->operations(), before) << "nothing to seal yet";
  const Replayed frame = MustAppend(*opened.log, "x");
  ASSERT_TRUE(opened.log->Seal().ok());
  before = fs->operations();
  ASSERT_TRUE(opened.log->Seal().ok());
  EXPECT_EQ(fs->operations(), before) << "sealed already";
  EXPECT_EQ(opened.log->usage().end, frame.position) << "a seal is no frame of the caller's";
  fs->Crash();
  opened = OpenLog(*fs, frame.position, SmallOptions());
  EXPECT_TRUE(opened.report.was_sealed);
  const Replayed next = MustAppend(*opened.log, "y");
  EXPECT_GT(next.position, frame.position);
  opened = OpenLog(*fs, kBeginning, SmallOptions());
  EXPECT_FALSE(opened.report.was_sealed);
  EXPECT_THAT(opened.replayed, ElementsAre(frame, next));
}

TEST(Log, ASealFitsHoweverFullTheSegmentIs) {
  const Options options = SmallOptions();
  for (std::uint64_t bytes = 3900; bytes < 4096; ++bytes) {
    const auto fs = MakeDisk(1);
    Opened opened = OpenLog(*fs, kBeginning, options);
    const Replayed frame = MustAppend(*opened.log, std::string(bytes, 'x'));
    ASSERT_TRUE(opened.log->Seal().ok());
    opened = OpenLog(*fs, kBeginning, options);
    ASSERT_TRUE(opened.report.was_sealed) << bytes;
    ASSERT_THAT(opened.replayed, ElementsAre(frame));
    ASSERT_GT(MustAppend(*opened.log, "next").position, frame.position);
  }
}

TEST(LogDeathTest, AppendBeforeTheSyncOfTheFrameBeforeIsAProgrammingError) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  ASSERT_TRUE(opened.log->Append("x").ok());
  EXPECT_DEATH(IgnoreError(opened.log->Append("y").status(), "dies before"), "sync of the one");
}

TEST(Log, OptionsOutOfRangeAreRefused) {
  const auto fs = MakeDisk(1);
  Options options = SmallOptions();
  options.durability = Durability::kOs;
  EXPECT_EQ(OpenLog(*fs, kBeginning, options).status.code(), absl::StatusCode::kInvalidArgument);
  options = SmallOptions();
  options.segment_bytes_first = options.segment_bytes + 1;
  EXPECT_EQ(OpenLog(*fs, kBeginning, options).status.code(), absl::StatusCode::kInvalidArgument);
  options = SmallOptions();
  options.frame_bytes_max = std::uint64_t{1} << 31;
  EXPECT_EQ(OpenLog(*fs, kBeginning, options).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(Log, AFailingReplayEndsTheOpening) {
  const auto fs = MakeDisk(1);
  MustAppend(*OpenLog(*fs, kBeginning, SmallOptions()).log, "x");
  const auto refuse = [](Position, std::string_view) { return Aborted("store says no"); };
  const Status status = Log::Open(*fs, kDir, SmallOptions(), kBeginning, refuse, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
}

// --- failures ---

TEST(LogFailure, AFailedSyncIsFinal) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  ASSERT_TRUE(opened.log->Append("x").ok());
  fs->FailAfter(SimOperation::kSyncData, 1);
  EXPECT_EQ(opened.log->Sync().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(opened.log->Sync().ok());
  EXPECT_FALSE(opened.log->Append("y").ok());
  EXPECT_FALSE(opened.log->Seal().ok());
  EXPECT_FALSE(opened.log->DropBefore(kBeginning).ok());
}

TEST(LogFailure, AFailedWriteIsFinal) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  fs->FailAfter(SimOperation::kWrite, 1);
  EXPECT_EQ(opened.log->Append("x").status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(opened.log->Append("x").ok());
  EXPECT_FALSE(opened.log->Sync().ok());
}

TEST(LogFailure, AFailureWhileZeroingAheadIsFinal) {
  const auto fs = MakeDisk(1);
  env::SteppedExecutor executor;
  Options options = SmallOptions();
  options.executor = &executor;
  const Opened opened = OpenLog(*fs, kBeginning, options);
  fs->FailAfter(SimOperation::kZero, 1);
  ASSERT_TRUE(executor.RunOne());
  EXPECT_EQ(opened.log->Append("x").status().code(), absl::StatusCode::kInternal);
}

TEST(LogFailure, AFailedDropIsFinal) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  Replayed last;
  for (int i = 0; i < 8; ++i) last = MustAppend(*opened.log, kThird);
  fs->FailAfter(SimOperation::kSyncDirectory, 1);
  EXPECT_FALSE(opened.log->DropBefore(last.position).ok());
  EXPECT_FALSE(opened.log->Append("x").ok());
}

TEST(LogFailure, AFullDiskShowsBeforeTheReserveIsUsedAndEndsWhenSpaceIsBack) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  fs->SetCapacity(fs->used_bytes());  // what is allocated now is all there is
  std::vector<Replayed> written;
  // The current segment is filled and the reserve is entered...
  for (int i = 0; i < 4; ++i) written.push_back(MustAppend(*opened.log, kThird));
  // ...which is told at once, while appends go on.
  EXPECT_TRUE(opened.log->usage().is_space_low);
  for (int i = 0; i < 2; ++i) written.push_back(MustAppend(*opened.log, kThird));
  const Status full = opened.log->Append(kThird).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(full)), HasSubstr("reserve is used up"));
  // Smaller frames may still fit, and seals always do.
  written.push_back(MustAppend(*opened.log, "small"));
  EXPECT_TRUE(opened.log->Seal().ok());
  EXPECT_TRUE(opened.log->usage().is_space_low);

  fs->SetCapacity(std::nullopt);
  EXPECT_FALSE(opened.log->usage().is_space_low) << "looking has the reserve tried again";
  written.push_back(MustAppend(*opened.log, kThird));
  fs->Crash();
  EXPECT_EQ(OpenLog(*fs, kBeginning, SmallOptions()).replayed, written);
}

TEST(LogFailure, DroppingSegmentsRefillsTheReserveOfAFullDisk) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  fs->SetCapacity(fs->used_bytes());
  Replayed last;
  for (int i = 0; i < 6; ++i) last = MustAppend(*opened.log, kThird);
  ASSERT_EQ(opened.log->Append(kThird).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(opened.log->DropBefore(last.position).ok());
  EXPECT_FALSE(opened.log->usage().is_space_low);
  MustAppend(*opened.log, kThird);
}

TEST(LogFailure, ADiskTooFullForALargeFrameStillTakesUsualOnes) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  fs->SetCapacity(fs->used_bytes() + 4096);
  EXPECT_EQ(opened.log->Append(std::string(30'000, 'x')).status().code(),
            absl::StatusCode::kResourceExhausted);
  std::vector<Replayed> written;
  for (int i = 0; i < 6; ++i) written.push_back(MustAppend(*opened.log, kThird));
  fs->Crash();
  EXPECT_EQ(OpenLog(*fs, kBeginning, SmallOptions()).replayed, written);
}

TEST(LogFailure, AFullDiskAtTheFirstStartIsReported) {
  const auto fs = MakeDisk(1);
  fs->SetCapacity(1000);
  const Status status = OpenLog(*fs, kBeginning, SmallOptions()).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("8192 bytes are needed, 1000 are free"));
  EXPECT_EQ(fs->used_bytes(), 0u);
}

// --- dropping and pinning ---

TEST(LogDrop, SegmentsGoOnceAllTheirFramesLieBelowThePosition) {
  const auto fs = MakeDisk(1);
  Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  std::vector<Replayed> written;
  for (int i = 0; i < 8; ++i) written.push_back(MustAppend(*opened.log, kThird));
  EXPECT_EQ(opened.log->usage().segments, 4u);  // 3 + 3 + 2 frames, and the reserve
  EXPECT_EQ(opened.log->usage().first, written[0].position);

  ASSERT_TRUE(opened.log->DropBefore(written[1].position).ok());
  EXPECT_EQ(opened.log->usage().segments, 4u) << "the third frame of the segment is needed";
  ASSERT_TRUE(opened.log->DropBefore(written[2].position).ok());
  EXPECT_EQ(opened.log->usage().segments, 3u);
  EXPECT_EQ(opened.log->usage().first, written[3].position);
  ASSERT_TRUE(opened.log->DropBefore(written[7].position).ok());
  EXPECT_EQ(opened.log->usage().segments, 2u) << "the last segment stays";
  fs->Crash();
  opened = OpenLog(*fs, written[6].position, SmallOptions());
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_THAT(opened.replayed, ElementsAre(written[7]));
}

TEST(LogDrop, ASegmentStaysUntilAFrameOfTheNextIsOnDisk) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  Replayed last;
  for (int i = 0; i < 3; ++i) last = MustAppend(*opened.log, kThird);
  ASSERT_TRUE(opened.log->Append(kThird).ok());  // goes to the second segment
  ASSERT_TRUE(opened.log->DropBefore(last.position).ok());
  EXPECT_EQ(opened.log->usage().first, last.position - 2 * 1144) << "still the first segment";
  ASSERT_TRUE(opened.log->Sync().ok());
  ASSERT_TRUE(opened.log->DropBefore(last.position).ok());
  EXPECT_GT(opened.log->usage().first, last.position);
}

TEST(LogDrop, PinnedSegmentsStayUntilThePinEnds) {
  const auto fs = MakeDisk(1);
  Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  Replayed last;
  for (int i = 0; i < 5; ++i) last = MustAppend(*opened.log, kThird);
  std::unique_ptr<Log::Pin> pin = opened.log->PinSegments();
  ASSERT_EQ(pin->files().size(), 2u);
  EXPECT_EQ(pin->files()[0].name, "0000000001.log");
  EXPECT_TRUE(pin->files()[0].is_complete);
  EXPECT_EQ(pin->files()[1].name, "0000000002.log");
  EXPECT_FALSE(pin->files()[1].is_complete);
  EXPECT_EQ(pin->files()[1].synced_bytes, 4096 + 2 * 1144u);
  for (int i = 0; i < 3; ++i) last = MustAppend(*opened.log, kThird);
  const std::uint64_t segments = opened.log->usage().segments;
  ASSERT_TRUE(opened.log->DropBefore(last.position).ok());
  EXPECT_EQ(opened.log->usage().segments, segments);
  pin.reset();
  ASSERT_TRUE(opened.log->DropBefore(last.position).ok());
  EXPECT_EQ(opened.log->usage().segments, segments - 2);
  pin = opened.log->PinSegments();
  opened.log.reset();  // a pin may outlive its log
}

TEST(LogDrop, APinLeavesOutFramesThatAreNotOnDisk) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  for (int i = 0; i < 3; ++i) MustAppend(*opened.log, kThird);
  ASSERT_TRUE(opened.log->Append(kThird).ok());  // in the second segment, not synced
  const std::unique_ptr<Log::Pin> pin = opened.log->PinSegments();
  ASSERT_EQ(pin->files().size(), 1u);
  EXPECT_FALSE(pin->files()[0].is_complete) << "a crash may bring the writer back to it";
}

TEST(LogDrop, ACopyOfPinnedFilesOpensAndGoesOn) {
  const auto fs = MakeDisk(1);
  const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
  std::vector<Replayed> written;
  for (int i = 0; i < 5; ++i) written.push_back(MustAppend(*opened.log, kThird));
  Files files = ReadFiles(*fs);
  Files copied;
  const std::unique_ptr<Log::Pin> pin = opened.log->PinSegments();
  for (const Log::PinnedFile& file : pin->files()) {
    copied[file.name] = files[file.name].substr(0, file.synced_bytes);
  }
  const auto copy = DiskWith(copied);
  Opened reopened = OpenLog(*copy, kBeginning, SmallOptions());
  ASSERT_TRUE(reopened.status.ok()) << reopened.status;
  EXPECT_EQ(reopened.replayed, written);
  EXPECT_TRUE(reopened.report.cut_reason.empty());
  ASSERT_TRUE(reopened.log->Seal().ok());
  for (int i = 0; i < 5; ++i) written.push_back(MustAppend(*reopened.log, kThird));
  copy->Crash();
  EXPECT_EQ(OpenLog(*copy, kBeginning, SmallOptions()).replayed, written);
}

// --- the weaker mode ---

TEST(LogOs, ASyncWaitsForTheDiskOnlyOnceASecond) {
  const auto fs = MakeDisk(1);
  env::VirtualClock clock(FromMicros(0));
  Options options = SmallOptions();
  options.durability = Durability::kOs;
  options.clock = &clock;
  const Opened opened = OpenLog(*fs, kBeginning, options);
  int syncs = 0;
  fs->SetHook([&](SimOperation operation, const std::string&) {
    if (operation == SimOperation::kSyncData) ++syncs;
  });
  MustAppend(*opened.log, "a");
  clock.Advance(absl::Milliseconds(999));
  MustAppend(*opened.log, "b");
  EXPECT_EQ(syncs, 0);
  clock.Advance(absl::Milliseconds(1));
  MustAppend(*opened.log, "c");
  EXPECT_EQ(syncs, 1);
  MustAppend(*opened.log, "d");
  EXPECT_EQ(syncs, 1);
  ASSERT_TRUE(opened.log->Seal().ok());
  EXPECT_EQ(syncs, 3) << "the frames, then the seal";
}

TEST(LogOs, APowerCutTakesASuffixAndTheStoreMayBeAhead) {
  bool was_ahead = false;
  bool lost_some = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto fs = MakeDisk(seed);
    env::VirtualClock clock(FromMicros(0));
    Options options = SmallOptions();
    options.durability = Durability::kOs;
    options.clock = &clock;
    Opened opened = OpenLog(*fs, kBeginning, options);
    std::vector<Replayed> written;
    for (int i = 0; i < 3; ++i) written.push_back(MustAppend(*opened.log, std::string(700, 'x')));
    fs->Crash();
    const Position applied = written[1].position;  // the store flushed that before
    opened = OpenLog(*fs, applied, options);
    ASSERT_TRUE(opened.status.ok()) << "seed " << seed << " " << opened.status;
    ASSERT_LE(opened.replayed.size(), 1u);
    lost_some = lost_some || opened.replayed.empty();
    was_ahead = was_ahead || !opened.report.warnings.empty();
    const Replayed next = MustAppend(*opened.log, "next");
    ASSERT_GT(next.position, applied);
    std::vector<Replayed> expected = opened.replayed;
    expected.push_back(next);
    ASSERT_TRUE(opened.log->Seal().ok());
    fs->Crash();
    opened = OpenLog(*fs, applied, options);
    ASSERT_EQ(opened.replayed, expected) << "seed " << seed;
  }
  EXPECT_TRUE(lost_some);
  EXPECT_TRUE(was_ahead);
}

// --- the real world ---

TEST(LogPosix, RealFilesAndTheZeroingThreadKeepEveryFrame) {
  std::string root = (std::filesystem::temp_directory_path() / "sluice-log-XXXXXX").string();
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  env::PosixFileSystem fs;
  std::vector<Replayed> written;
  Options options = SmallOptions();
  options.segment_bytes = 64u << 10;
  options.reserve_segments = 2;
  for (int life = 0; life < 3; ++life) {
    env::ThreadExecutor executor;
    options.executor = &executor;
    Opened opened = OpenLog(fs, kBeginning, options, root);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    EXPECT_EQ(opened.replayed, written);
    std::atomic<bool> is_done = false;
    std::thread watcher([&] {
      while (!is_done) {
        const std::unique_ptr<Log::Pin> pin = opened.log->PinSegments();
        EXPECT_FALSE(pin->files().empty());
        EXPECT_FALSE(opened.log->usage().is_space_low);
        EXPECT_TRUE(opened.log->DropBefore(kBeginning).ok());
        std::this_thread::yield();
      }
    });
    constexpr int kFrames = 40;  // real syncs: few, but some segments' worth of bytes
    for (int i = 0; i < kFrames; ++i) {
      written.push_back(
          MustAppend(*opened.log, std::string(static_cast<std::size_t>(i) * 50, 'p')));
    }
    is_done = true;
    watcher.join();
    if (life == 1) {
      EXPECT_TRUE(opened.log->Seal().ok());
    }
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sluice::log
