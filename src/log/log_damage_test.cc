// SPDX-License-Identifier: Apache-2.0
// Damage against torn tails. Proves that no single flipped bit of a log can make
// it lose, change or invent a frame without being told; that losses which can be
// proven stop the start with a message an operator can act on; and that giving
// them up, as the message offers, keeps everything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "log/format.h"
#include "log/log_testing.h"

namespace sluice::log {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kFirst = "0000000001.log";
constexpr std::string_view kSecond = "0000000002.log";

/// Two segments, five frames, no reserve, so that every byte of it can be tried.
struct SmallLog {
  explicit SmallLog(bool is_sealed) {
    const auto fs = MakeDisk(1);
    options.reserve_segments = 0;
    const Opened opened = OpenLog(*fs, kBeginning, options);
    for (const std::size_t bytes : {10u, 1900u, 1800u, 700u, 33u}) {
      frames.push_back(
          MustAppend(*opened.log, std::string(bytes, static_cast<char>('a' + frames.size()))));
    }
    if (is_sealed) {
      EXPECT_TRUE(opened.log->Seal().ok());
    }
    files = ReadFiles(*fs);
    EXPECT_EQ(files.size(), 2u);
  }

  /// Whether the byte belongs to header or payload of the frame.
  [[nodiscard]] bool IsIn(const Replayed& frame, std::string_view name, std::uint64_t at) const {
    const std::uint64_t begin = OffsetOf(frame.position);
    return name == SegmentFileName(SegmentOf(frame.position)) && at >= begin &&
           at < begin + kFrameHeaderBytes + frame.payload.size();
  }

  Options options = SmallOptions();
  std::vector<Replayed> frames;
  Files files;
};

/// Opens, checks what was replayed, appends, crashes, and checks again: whatever
/// the flip left behind must not come back later.
void ExpectWorksWith(env::SimFileSystem& fs, const Options& options, std::vector<Replayed> frames) {
  Opened opened = OpenLog(fs, kBeginning, options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  ASSERT_EQ(opened.replayed, frames);
  frames.push_back(MustAppend(*opened.log, "after"));
  frames.push_back(MustAppend(*opened.log, "after that"));
  fs.Crash();
  opened = OpenLog(fs, kBeginning, options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  ASSERT_EQ(opened.replayed, frames);
}

TEST(LogDamage, EveryFlippedBitOfASealedLogIsDetectedOrConcernsNoFrame) {
  const SmallLog log(/*is_sealed=*/true);
  std::uint64_t detected = 0;
  std::uint64_t harmless = 0;
  for (const auto& [name, content] : log.files) {
    for (std::uint64_t at = 0; at < content.size(); ++at) {
      const bool is_frame = std::any_of(log.frames.begin(), log.frames.end(),
                                        [&](const Replayed& f) { return log.IsIn(f, name, at); });
      for (int bit = 0; bit < 8; ++bit) {
        SCOPED_TRACE(name + " byte " + std::to_string(at) + " bit " + std::to_string(bit));
        const auto fs = DiskWith(log.files);
        fs->FlipBit(env::JoinPath(kDir, name), at, bit);
        if (is_frame) {
          const Status status = OpenLog(*fs, kBeginning, log.options).status;
          ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
          ++detected;
          continue;
        }
        // Opening is tried for every bit, going on from there for one of each byte.
        if (at % 8 == static_cast<std::uint64_t>(bit)) {
          ExpectWorksWith(*fs, log.options, log.frames);
          if (HasFatalFailure()) return;
        } else {
          const Opened opened = OpenLog(*fs, kBeginning, log.options);
          ASSERT_TRUE(opened.status.ok()) << opened.status;
          ASSERT_EQ(opened.replayed, log.frames);
        }
        ++harmless;
      }
    }
  }
  // 5 headers of 40 bytes and 4,443 bytes of payload.
  EXPECT_EQ(detected, (5 * 40 + 10 + 1900 + 1800 + 700 + 33) * 8u);
  EXPECT_GT(harmless, 0u);
}

TEST(LogDamage, EveryFlippedBitOfAnUnprovenLastFrameCutsItWholeAndSaysSo) {
  const SmallLog log(/*is_sealed=*/false);
  const Replayed& last = log.frames.back();
  std::vector<Replayed> others = log.frames;
  others.pop_back();
  for (std::uint64_t i = 0; i < kFrameHeaderBytes + last.payload.size(); ++i) {
    const std::uint64_t at = OffsetOf(last.position) + i;
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE("byte " + std::to_string(i) + " bit " + std::to_string(bit));
      const auto fs = DiskWith(log.files);
      const std::string path = env::JoinPath(kDir, std::string(kSecond));
      fs->FlipBit(path, at, bit);
      // The store's position proves the frame, where nothing else does.
      EXPECT_EQ(OpenLog(*fs, last.position, log.options).status.code(),
                absl::StatusCode::kDataLoss);
      // A length that became shorter leaves bytes behind the frame, which look like
      // a frame begun after it: told as damage, the safe side.
      const bool is_length = i >= 12 && i < 16;
      const Opened opened = OpenLog(*fs, kBeginning, log.options);
      if (is_length && opened.status.code() == absl::StatusCode::kDataLoss) continue;
      ASSERT_TRUE(opened.status.ok()) << opened.status;
      ASSERT_EQ(opened.replayed, others);
      EXPECT_GT(opened.report.bytes_cut, 0u);
      EXPECT_THAT(opened.report.cut_reason, HasSubstr(std::string(kSecond)));
    }
  }
}

TEST(LogDamage, TheMessageNamesPlaceLossProofAndWaysOut) {
  const SmallLog log(/*is_sealed=*/true);
  const auto fs = DiskWith(log.files);
  const Replayed& hit = log.frames[1];
  fs->FlipBit(env::JoinPath(kDir, std::string(kFirst)), OffsetOf(hit.position) + 100, 0);
  const Status status = OpenLog(*fs, kBeginning, log.options).status;
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss);
  const std::string message(Message(status));
  EXPECT_THAT(message,
              HasSubstr("log/0000000001.log, offset " + std::to_string(OffsetOf(hit.position))));
  const std::string position = std::to_string(hit.position);
  EXPECT_THAT(message, HasSubstr("after position " + std::to_string(log.frames[0].position) +
                                 " up to position " + position));
  EXPECT_THAT(message,
              HasSubstr("intact frame at position " + std::to_string(log.frames[2].position)));
  EXPECT_THAT(message, HasSubstr("restore the last backup"));
  EXPECT_THAT(message, HasSubstr("--accept-log-loss " + position));
}

TEST(LogDamage, GivingUpADamagedFrameKeepsAllOthersForGood) {
  const SmallLog log(/*is_sealed=*/true);
  for (std::size_t hit = 0; hit < log.frames.size(); ++hit) {
    SCOPED_TRACE("frame " + std::to_string(hit));
    const Position lost = log.frames[hit].position;
    const auto fs = DiskWith(log.files);
    fs->FlipBit(env::JoinPath(kDir, SegmentFileName(SegmentOf(lost))), OffsetOf(lost) + 45, 3);
    std::vector<Replayed> others = log.frames;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(hit));
    Options options = log.options;
    options.accept_loss_at = {lost + 8};
    EXPECT_EQ(OpenLog(*fs, kBeginning, options).status.code(), absl::StatusCode::kDataLoss)
        << "only the named loss is accepted";
    options.accept_loss_at = {lost};
    Opened opened = OpenLog(*fs, kBeginning, options);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    EXPECT_EQ(opened.replayed, others);
    EXPECT_THAT(opened.report.warnings, ElementsAre(HasSubstr("given up")));
    others.push_back(MustAppend(*opened.log, "next"));
    // From then on no permission is needed, also when the store is at the frame
    // that was lost, and other damage is still found.
    fs->Crash();
    opened = OpenLog(*fs, kBeginning, log.options);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    EXPECT_EQ(opened.replayed, others);
    opened = OpenLog(*fs, lost, log.options);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    fs->Crash();
    const Position other = others.front().position;
    fs->FlipBit(env::JoinPath(kDir, SegmentFileName(SegmentOf(other))), OffsetOf(other) + 2, 1);
    EXPECT_EQ(OpenLog(*fs, kBeginning, log.options).status.code(), absl::StatusCode::kDataLoss);
  }
}

TEST(LogDamage, AStoreAheadOfTheLogIsRefusedUnlessGivenUp) {
  const SmallLog log(/*is_sealed=*/true);
  // Everything from the fourth frame on reads as zeros, as if never written.
  Files files = log.files;
  const std::uint64_t from = OffsetOf(log.frames[3].position);
  std::string& second = files[std::string(kSecond)];
  second.replace(from, std::string::npos, second.size() - from, '\0');
  const auto fs = DiskWith(files);
  const Position applied = log.frames[4].position;
  const Status status = OpenLog(*fs, applied, log.options).status;
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)),
              HasSubstr("applied frames up to position " + std::to_string(applied)));
  // Without the store's word nobody could know.
  EXPECT_EQ(OpenLog(*DiskWith(files), kBeginning, log.options).replayed.size(), 3u);

  Options options = log.options;
  options.accept_loss_at = {log.frames[3].position};
  Opened opened = OpenLog(*fs, applied, options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_TRUE(opened.replayed.empty());
  EXPECT_EQ(opened.report.end, applied);
  const Replayed next = MustAppend(*opened.log, "next");
  EXPECT_GT(next.position, applied) << "else the store would skip it after a crash";
  fs->Crash();
  opened = OpenLog(*fs, applied, log.options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_THAT(opened.replayed, ElementsAre(next));
}

TEST(LogDamage, AMissingSegmentIsMissed) {
  const auto fs = MakeDisk(1);
  Options options = SmallOptions();
  std::vector<Replayed> frames;
  {
    const Opened opened = OpenLog(*fs, kBeginning, options);
    for (int i = 0; i < 12; ++i) frames.push_back(MustAppend(*opened.log, std::string(1100, 'x')));
  }
  const Files all = ReadFiles(*fs);
  ASSERT_EQ(all.size(), 5u);  // 4 of 3 frames, and the reserve
  for (const Position applied : {kBeginning, frames[2].position, frames[8].position}) {
    for (int missing = 1; missing <= 4; ++missing) {
      SCOPED_TRACE("segment " + std::to_string(missing) + ", applied " + std::to_string(applied));
      Files files = all;
      files.erase(SegmentFileName(static_cast<std::uint32_t>(missing)));
      const Opened opened = OpenLog(*DiskWith(files), applied, options);
      if (missing == 1 && applied != kBeginning) {
        EXPECT_TRUE(opened.status.ok()) << "indistinguishable from a dropped one";
      } else if (missing == 4) {
        // Unsealed, so its frames are unproven: nothing is left that names them.
        EXPECT_EQ(opened.replayed.size(), applied == kBeginning           ? 9u
                                          : applied == frames[2].position ? 6u
                                                                          : 0u);
      } else {
        EXPECT_EQ(opened.status.code(), absl::StatusCode::kDataLoss) << opened.status;
      }
    }
  }
  EXPECT_EQ(OpenLog(*DiskWith({}), frames[0].position, options).status.code(),
            absl::StatusCode::kDataLoss);
  Files files = all;
  files.erase("0000000002.log");
  options.accept_loss_at = {frames[2].position + 1144};
  const auto disk = DiskWith(files);
  Opened opened = OpenLog(*disk, kBeginning, options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  std::vector<Replayed> kept = frames;
  kept.erase(kept.begin() + 3, kept.begin() + 6);
  EXPECT_EQ(opened.replayed, kept);
  // Later starts know, wherever the store stands by then.
  for (const Position applied : {kBeginning, frames[8].position, frames[11].position}) {
    disk->Crash();
    opened = OpenLog(*disk, applied, SmallOptions());
    EXPECT_TRUE(opened.status.ok()) << opened.status;
  }
}

TEST(LogDamage, ForeignAndRenamedSegmentsAreRefused) {
  const SmallLog log(/*is_sealed=*/true);
  const auto other = MakeDisk(1);
  Options other_options = SmallOptions();
  other_options.new_log_id = kLogId + 1;
  { OpenLog(*other, kBeginning, other_options); }
  Files files = log.files;
  files["0000000003.log"] = ReadFiles(*other)[std::string(kFirst)];
  EXPECT_EQ(OpenLog(*DiskWith(files), kBeginning, log.options).status.code(),
            absl::StatusCode::kDataLoss);
  files["0000000003.log"] = log.files.at(std::string(kSecond));
  const Status status = OpenLog(*DiskWith(files), kBeginning, log.options).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("holds segment 2"));
}

TEST(LogDamage, AnUnknownFormatVersionIsRefusedNotRepaired) {
  const SmallLog log(/*is_sealed=*/true);
  Files files = log.files;
  files[std::string(kSecond)].replace(
      0, kSegmentHeaderBytes,
      EncodeSegmentHeader({.version = 2, .segment = 2, .log_id = kLogId, .bytes = 8192}));
  const Status status = OpenLog(*DiskWith(files), kBeginning, log.options).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("version 2, this build knows version 1"));
}

TEST(LogDamage, ASegmentWithoutAHeaderIsRefused) {
  const SmallLog log(/*is_sealed=*/true);
  Files files = log.files;
  files[std::string(kFirst)].replace(0, kSegmentHeaderBytes, kSegmentHeaderBytes, '\0');
  EXPECT_EQ(OpenLog(*DiskWith(files), kBeginning, log.options).status.code(),
            absl::StatusCode::kDataLoss);
  files[std::string(kFirst)].clear();
  EXPECT_EQ(OpenLog(*DiskWith(files), kBeginning, log.options).status.code(),
            absl::StatusCode::kDataLoss);
}

TEST(LogDamage, AStorePositionThatIsNoFrameIsRefused) {
  const SmallLog log(/*is_sealed=*/true);
  const Status status =
      OpenLog(*DiskWith(log.files), log.frames[1].position + 8, log.options).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("do not belong together"));
}

TEST(LogDamage, AStoreOlderThanTheOldestSegmentIsRefused) {
  const auto fs = MakeDisk(1);
  std::vector<Replayed> frames;
  {
    const Opened opened = OpenLog(*fs, kBeginning, SmallOptions());
    for (int i = 0; i < 7; ++i) frames.push_back(MustAppend(*opened.log, std::string(1100, 'x')));
    ASSERT_TRUE(opened.log->DropBefore(frames[5].position).ok());
  }
  const Status status = OpenLog(*fs, frames[4].position, SmallOptions()).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("oldest frame of the log"));
  EXPECT_TRUE(OpenLog(*fs, frames[5].position, SmallOptions()).status.ok());
  // Its only frames damaged: that it was the oldest proves that they were on disk.
  const std::string path = env::JoinPath(kDir, SegmentFileName(SegmentOf(frames[6].position)));
  fs->FlipBit(path, OffsetOf(frames[6].position) + 50, 0);
  EXPECT_EQ(OpenLog(*fs, frames[5].position, SmallOptions()).status.code(),
            absl::StatusCode::kDataLoss);
}

TEST(LogDamage, AnIntactFrameThatNamesTheWrongPredecessorIsRefused) {
  // A frame that a crash, a lost write or a copied file could only have left behind
  // from another history of the same log.
  const SmallLog log(/*is_sealed=*/false);
  Files files = log.files;
  const Replayed& last = log.frames[4];
  std::string frame;
  EncodeFrame({.payload_bytes = 33,
               .position = last.position,
               .previous = log.frames[2].position,
               .synced = log.frames[2].position},
              last.payload, kLogId, &frame);
  files[std::string(kSecond)].replace(OffsetOf(last.position), frame.size(), frame);
  const Status status = OpenLog(*DiskWith(files), kBeginning, log.options).status;
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(Message(status)),
              HasSubstr("names position " + std::to_string(log.frames[2].position)));
}

TEST(LogDamage, ABegunFrameProvesTheDamagedOneBeforeIt) {
  // The last synced frame is damaged, and the one after it was torn by the crash:
  // no intact frame is left to prove anything, but two cannot be torn.
  const SmallLog log(/*is_sealed=*/false);
  Files files = log.files;
  const Replayed& last = log.frames[4];
  const std::uint64_t end = OffsetOf(last.position) + FrameBytes(last.payload.size());
  std::string& second = files[std::string(kSecond)];
  second[OffsetOf(last.position) + 50] ^= 1;
  second[end + 200] = 'x';
  const Status status = OpenLog(*DiskWith(files), kBeginning, log.options).status;
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("a frame begun behind it"));
  Options options = log.options;
  options.accept_loss_at = {last.position};
  Opened opened = OpenLog(*DiskWith(files), kBeginning, options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_EQ(opened.replayed.size(), 4u);
}

TEST(LogDamage, AFrameOfThisLogInsideAPayloadIsNeverMistakenForOne) {
  // Someone stores a copy of the log in the log: its frames verify, but not here.
  const SmallLog log(/*is_sealed=*/true);
  const auto fs = DiskWith(log.files);
  Opened opened = OpenLog(*fs, kBeginning, log.options);
  const Replayed copy = MustAppend(*opened.log, log.files.at(std::string(kFirst)));
  opened.log.reset();
  Files files = ReadFiles(*fs);
  std::string& third = files[SegmentFileName(SegmentOf(copy.position))];
  third[OffsetOf(copy.position) + 44] ^= 1;  // torn, say
  opened = OpenLog(*DiskWith(files), kBeginning, log.options);
  ASSERT_TRUE(opened.status.ok()) << opened.status;
  EXPECT_EQ(opened.replayed, log.frames);
  EXPECT_GT(opened.report.bytes_cut, 0u);
}

TEST(LogDamage, RandomDamageNeverInventsAFrame) {
  // Overwrites random ranges with zeros, ones or noise: whatever is replayed must
  // be a subsequence of what was written, and without a warning, a cut or an error
  // it must be everything.
  constexpr std::uint64_t kRounds = 3000;
  const SmallLog log(/*is_sealed=*/true);
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Files files = log.files;
    const std::string name(random() % 2 == 0 ? kFirst : kSecond);
    std::string& content = files[name];
    const std::uint64_t from = random() % content.size();
    const std::uint64_t bytes = std::min<std::uint64_t>(content.size() - from, 1 + random() % 2000);
    const std::uint64_t kind = random() % 3;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      content[from + i] = static_cast<char>(kind == 0 ? 0 : kind == 1 ? 0xFF : random());
    }
    Options options = log.options;
    Opened opened = OpenLog(*DiskWith(files), kBeginning, options);
    if (opened.status.ok()) {
      // Only an end that was hit throughout, the seal included, can go unproven;
      // and only zeros, which look like space never used, unreported.
      const std::size_t kept = opened.replayed.size();
      ASSERT_LE(kept, log.frames.size());
      ASSERT_TRUE(std::equal(opened.replayed.begin(), opened.replayed.end(), log.frames.begin()));
      if (kept == log.frames.size()) continue;
      const std::uint64_t end = OffsetOf(log.frames.back().position) +
                                FrameBytes(log.frames.back().payload.size()) + kFrameHeaderBytes;
      const Replayed& lost = log.frames[kept];
      ASSERT_EQ(name, SegmentFileName(SegmentOf(lost.position)));
      ASSERT_LT(from, OffsetOf(lost.position) + kFrameHeaderBytes + lost.payload.size());
      ASSERT_GT(from + bytes, end - kFrameHeaderBytes);
      ASSERT_TRUE(kind == 0 || !opened.report.cut_reason.empty());
      continue;
    }
    ASSERT_EQ(opened.status.code(), absl::StatusCode::kDataLoss) << opened.status;
    // What the message offers works, in as many steps as there are losses.
    const auto fs = DiskWith(files);
    for (int tries = 0; tries < 8 && !opened.status.ok(); ++tries) {
      const std::string message(Message(opened.status));
      const std::size_t flag = message.find("--accept-log-loss ");
      if (flag == std::string::npos) break;  // both headers are gone: a backup it is
      options.accept_loss_at.push_back(std::strtoull(message.c_str() + flag + 18, nullptr, 10));
      opened = OpenLog(*fs, kBeginning, options);
    }
    if (!opened.status.ok()) continue;
    ASSERT_TRUE(std::includes(
        log.frames.begin(), log.frames.end(), opened.replayed.begin(), opened.replayed.end(),
        [](const Replayed& a, const Replayed& b) { return a.position < b.position; }));
    for (const Replayed& frame : opened.replayed) {
      ASSERT_NE(std::find(log.frames.begin(), log.frames.end(), frame), log.frames.end());
    }
    const Replayed next = MustAppend(*opened.log, "next");
    fs->Crash();
    const std::vector<Replayed> replayed = OpenLog(*fs, kBeginning, log.options).replayed;
    ASSERT_FALSE(replayed.empty());
    ASSERT_EQ(replayed.back(), next);
  }
}

}  // namespace
}  // namespace sluice::log
