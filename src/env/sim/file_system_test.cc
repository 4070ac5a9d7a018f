// SPDX-License-Identifier: Apache-2.0
// Proves that the model disk is as unkind as its header says and no unkinder:
// synced bytes and names always survive, unsynced ones may go, sectors never
// split, and one seed gives one history.
#include "env/sim/file_system.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::env {
namespace {

constexpr std::uint64_t kSeeds = 300;
constexpr std::uint64_t kSmall = 1 << 20;
const std::string kOld(3 * kSimSectorBytes, 'o');
const std::string kNew(3 * kSimSectorBytes, 'n');

std::unique_ptr<File> MustOpen(SimFileSystem& fs, const std::string& path) {
  StatusOr<std::unique_ptr<File>> file = fs.Open(path, OpenMode::kCreate);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

std::string Content(SimFileSystem& fs, const std::string& path) {
  const StatusOr<std::string> content = ReadFile(fs, path, kSmall);
  return content.ok() ? *content : "absent";
}

/// A file "f" whose old content and name are durable, with `kNew` written over it.
std::unique_ptr<File> OverwriteDurable(SimFileSystem& fs) {
  std::unique_ptr<File> file = MustOpen(fs, "f");
  EXPECT_TRUE(file->WriteAt(0, kOld).ok());
  EXPECT_TRUE(file->SyncData().ok());
  EXPECT_TRUE(fs.SyncDirectory(".").ok());
  EXPECT_TRUE(file->WriteAt(0, kNew).ok());
  return file;
}

TEST(SimFileSystem, SyncedBytesAndNamesSurviveEveryCrash) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    ASSERT_TRUE(OverwriteDurable(fs)->SyncData().ok());
    fs.Crash();
    ASSERT_EQ(Content(fs, "f"), kNew) << "seed " << seed;
  }
}

TEST(SimFileSystem, UnsyncedBytesAreLostKeptOrTornAtSectors) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    OverwriteDurable(fs);
    fs.Crash();
    const std::string content = Content(fs, "f");
    ASSERT_EQ(content.size(), kOld.size());
    std::string shape;
    for (std::uint64_t sector = 0; sector < 3; ++sector) {
      const std::string bytes = content.substr(sector * kSimSectorBytes, kSimSectorBytes);
      ASSERT_EQ(bytes, std::string(kSimSectorBytes, bytes[0])) << "seed " << seed;
      shape.push_back(bytes[0]);
    }
    seen.insert(shape);
  }
  EXPECT_EQ(seen.size(), 8u);  // every combination of three sectors
}

TEST(SimFileSystem, UnsyncedNamesMayGoAndARenameIsOneChange) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    ASSERT_TRUE(OverwriteDurable(fs)->SyncData().ok());
    ASSERT_TRUE(fs.Rename("f", "g").ok());
    ASSERT_TRUE(MustOpen(fs, "h")->SyncData().ok());
    fs.Crash();
    std::string names;
    const StatusOr<std::vector<std::string>> listed = fs.List(".");
    ASSERT_TRUE(listed.ok());
    for (const std::string& name : *listed) names += name;
    seen.insert(names);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"f", "fh", "g", "gh"}));
}

TEST(SimFileSystem, FilesInALostFolderAreLost) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    ASSERT_TRUE(fs.CreateDirectory("d").ok());
    ASSERT_TRUE(MustOpen(fs, "d/f")->SyncData().ok());
    ASSERT_TRUE(fs.SyncDirectory("d").ok());
    fs.Crash();
    seen.insert(fs.List("d").ok() ? Content(fs, "d/f") : "no folder");
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "no folder"}));
}

TEST(SimFileSystem, KillLosesNothingButMakesNothingDurable) {
  bool was_lost = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    const std::unique_ptr<File> file = OverwriteDurable(fs);
    const StatusOr<std::unique_ptr<FileLock>> lock = fs.Lock("LOCK");
    fs.Kill();
    ASSERT_EQ(Content(fs, "f"), kNew);
    EXPECT_EQ(file->WriteAt(0, "x").code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(fs.Lock("LOCK").ok());
    fs.Crash();
    was_lost = was_lost || Content(fs, "f") != kNew;
  }
  EXPECT_TRUE(was_lost);
}

TEST(SimFileSystem, AFailedSyncCannotBeRepairedByASecondOne) {
  bool was_lost = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    const std::unique_ptr<File> file = OverwriteDurable(fs);
    fs.FailAfter(SimOperation::kSyncData, 1);
    ASSERT_EQ(file->SyncData().code(), absl::StatusCode::kInternal);
    ASSERT_TRUE(file->SyncData().ok());
    ASSERT_EQ(Content(fs, "f"), kNew);
    fs.Crash();
    was_lost = was_lost || Content(fs, "f") != kNew;
  }
  EXPECT_TRUE(was_lost);
}

TEST(SimFileSystem, WritingAgainAfterAFailedSyncDoesRepair) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem fs(seed);
    const std::unique_ptr<File> file = OverwriteDurable(fs);
    fs.FailAfter(SimOperation::kSyncData, 1);
    ASSERT_FALSE(file->SyncData().ok());
    ASSERT_TRUE(file->WriteAt(0, kNew).ok());
    ASSERT_TRUE(file->SyncData().ok());
    fs.Crash();
    ASSERT_EQ(Content(fs, "f"), kNew) << "seed " << seed;
  }
}

TEST(SimFileSystem, FullDiskRefusesGrowthButNotOverwriting) {
  SimFileSystem fs(1);
  const std::unique_ptr<File> file = OverwriteDurable(fs);
  fs.SetCapacity(kOld.size() + kSimSectorBytes);
  EXPECT_EQ(file->ZeroAt(kOld.size(), 2 * kSimSectorBytes).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_LE(fs.used_bytes(), kOld.size() + kSimSectorBytes);
  EXPECT_TRUE(file->WriteAt(0, kNew).ok());
  fs.SetCapacity(std::nullopt);
  EXPECT_TRUE(file->ZeroAt(kOld.size(), 2 * kSimSectorBytes).ok());
}

TEST(SimFileSystem, PowerCutStopsEverythingAtTheChosenOperation) {
  SimFileSystem fs(1);
  const std::unique_ptr<File> file = OverwriteDurable(fs);
  fs.StopAfter(2);
  EXPECT_TRUE(file->WriteAt(0, "1").ok());
  EXPECT_EQ(file->SyncData().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(fs.is_stopped());
  EXPECT_EQ(fs.List(".").status().code(), absl::StatusCode::kUnavailable);
  fs.Crash();
  EXPECT_TRUE(fs.List(".").ok());
}

TEST(SimFileSystem, HookSeesEachOperationBeforeItHappens) {
  SimFileSystem fs(1);
  const std::unique_ptr<File> file = MustOpen(fs, "f");
  std::string trace;
  fs.SetHook([&](SimOperation operation, const std::string& path) {
    trace += path + (operation == SimOperation::kSyncData ? ":sync " : ":write ") +
             std::to_string(*file->Size()) + " ";
  });
  ASSERT_TRUE(file->WriteAt(0, "x").ok());
  ASSERT_TRUE(file->SyncData().ok());
  EXPECT_EQ(trace, "f:write 0 f:sync 1 ");
}

TEST(SimFileSystem, OneSeedGivesOneHistory) {
  const auto run = [](std::uint64_t seed) {
    SimFileSystem fs(seed);
    std::string trace;
    const std::unique_ptr<File> file = OverwriteDurable(fs);
    fs.FailAfter(SimOperation::kWrite, 1);
    trace += std::to_string(file->WriteAt(0, kOld).ok());
    fs.Crash();
    return trace + Content(fs, "f");
  };
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_EQ(run(seed), run(seed));
    seen.insert(run(seed));
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(SimFileSystem, AFlippedBitIsSeenNowAndAfterACrash) {
  SimFileSystem fs(1);
  ASSERT_TRUE(OverwriteDurable(fs)->SyncData().ok());
  fs.FlipBit("f", 700, 3);
  std::string expected = kNew;
  expected[700] = static_cast<char>(expected[700] ^ 8);
  EXPECT_EQ(Content(fs, "f"), expected);
  fs.Crash();
  EXPECT_EQ(Content(fs, "f"), expected);
}

}  // namespace
}  // namespace sluice::env
