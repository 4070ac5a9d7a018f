// SPDX-License-Identifier: Apache-2.0
// Random histories against a naive model. One seed decides the workload, the
// faults and what a crash leaves. Proves, over every history:
//   - a frame whose sync returned is replayed after every crash, kill and failed
//     operation, in order and byte for byte;
//   - a frame whose sync did not return is there whole, or not at all;
//   - what recovery replayed once is never lost again;
//   - recovery itself may be cut short anywhere, as often as one likes;
//   - nothing is called damaged, and nothing is cut, that was not torn;
//   - under Durability::kOs a kill loses nothing and a power cut loses a suffix;
//   - a backup made of pinned files opens with what was synced.
// SLUICE_SOAK_SEEDS sets how many histories run; a failure names its seed, and
// SLUICE_SEED runs just that one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

#include "env/executor.h"
#include "env/virtual_clock.h"
#include "log/log_testing.h"

namespace sluice::log {
namespace {

constexpr std::uint64_t kSeedsDefault = 400;
constexpr int kStepsMax = 60;
constexpr char kBackupDir[] = "backup";

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed), fs_(MakeDisk(seed)), clock_(FromMicros(1'000'000'000)) {
    options_.segment_bytes_first = 4096 * (2 + Random(3));
    options_.segment_bytes = options_.segment_bytes_first * (1 + Random(4));
    options_.frame_bytes_max = 40'000;
    options_.reserve_segments = Random(3);
    options_.new_log_id = random_();
    options_.durability = Random(3) == 0 ? Durability::kOs : Durability::kSync;
    options_.clock = &clock_;
    if (Random(2) == 0) options_.executor = &executor_;
  }

  void Run() {
    Reopen();
    const std::uint64_t steps = 5 + Random(kStepsMax);
    for (std::uint64_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) Step();
    if (testing::Test::HasFailure()) return;
    // After all faults, one quiet life: everything is still there and it works.
    End();
    is_quiet_ = true;
    fs_->SetCapacity(std::nullopt);
    Reopen();
    if (testing::Test::HasFailure()) return;
    DoAppend();
    ASSERT_NE(log_, nullptr);
    EXPECT_TRUE(log_->Seal().ok());
    frames_durable_ = frames_.size();
    End();
    Reopen();
    EXPECT_TRUE(report_.was_sealed);
  }

 private:
  std::uint64_t Random(std::uint64_t below) { return random_() % below; }
  bool IsOs() const { return options_.durability == Durability::kOs; }

  void Step() {
    if (log_ == nullptr) {
      Reopen();
      return;
    }
    switch (Random(16)) {
      case 0:
        has_torn_seal_ = true;
        return Check(log_->Seal(), [this] {
          has_torn_seal_ = false;
          frames_durable_ = frames_.size();
        });
      case 1:
        return DoDrop();
      case 2:
        return End();
      case 3:
        fs_->StopAfter(1 + Random(12));
        return;
      case 4:
        fs_->FailAfter(env::SimOperation{static_cast<std::uint8_t>(Random(10))}, 1 + Random(4));
        has_faults_ = true;
        return;
      case 5:
        if (Random(2) == 0) {
          fs_->SetCapacity(fs_->used_bytes() + Random(30'000));
        } else {
          fs_->SetCapacity(std::nullopt);
        }
        return;
      case 6:
        executor_.RunOne();
        return;
      case 7:
        clock_.Advance(absl::Milliseconds(static_cast<int>(Random(1500))));
        return;
      case 8:
        return DoBackup();
      default:
        return DoAppend();
    }
  }

  std::string Payload() {
    // Zeros and ones beside text: bytes that look like unused space.
    static constexpr char kFillers[] = {'\0', '\xFF', 'a'};
    const std::uint64_t bytes = Random(8) == 0 ? Random(options_.frame_bytes_max + 1) : Random(900);
    std::string payload(bytes, kFillers[Random(3)]);
    for (std::uint64_t i = 0; i < bytes; i += 1 + Random(300)) {
      payload[i] = static_cast<char>(random_());
    }
    return payload;
  }

  void DoAppend() {
    const std::string payload = Payload();
    const StatusOr<Position> position = log_->Append(payload);
    if (!position.ok()) {
      if (position.status().code() == absl::StatusCode::kResourceExhausted) {
        // Nothing was written and the log goes on.
        ASSERT_TRUE(log_->Sync().ok() || has_faults_ || fs_->is_stopped());
        return;
      }
      // It may have been written, whole or in part, to an unknown place.
      pending_ = Replayed{kBeginning, payload};
      return Dead(position.status());
    }
    ASSERT_GT(*position, frames_.empty() ? applied_ : std::max(applied_, frames_.back().position));
    pending_ = Replayed{*position, payload};
    const bool is_due = Random(4) == 0;
    if (is_due) clock_.Advance(absl::Seconds(1));
    Check(log_->Sync(), [&] {
      frames_.push_back(*pending_);
      pending_.reset();
      if (!IsOs() || is_due) frames_durable_ = frames_.size();
    });
  }

  void DoDrop() {
    // The store has flushed some prefix of what was synced.
    if (frames_durable_ > 0 && Random(3) != 0) {
      const Position at = frames_[Random(frames_durable_)].position;
      flushed_ = std::max(flushed_, at);
    }
    Check(log_->DropBefore(flushed_), [] {});
  }

  /// Pins, copies as a backup does, opens the copy and compares.
  void DoBackup() {
    if (has_backup_ || has_faults_) return;
    has_backup_ = true;
    fs_->SetCapacity(std::nullopt);
    const std::unique_ptr<Log::Pin> pin = log_->PinSegments();
    if (!fs_->CreateDirectory(kBackupDir).ok()) return;
    for (const Log::PinnedFile& file : pin->files()) {
      const std::string from = env::JoinPath(kDir, file.name);
      const std::string to = env::JoinPath(kBackupDir, file.name);
      if (file.is_complete) {
        if (!fs_->Link(from, to).ok()) return;
        continue;
      }
      const StatusOr<std::string> bytes = env::ReadFile(*fs_, from, 1u << 30);
      if (!bytes.ok() ||
          !env::WriteFileAtomically(*fs_, to, bytes->substr(0, file.synced_bytes)).ok()) {
        return;  // the power went
      }
    }
    const std::vector<Replayed> expected(
        frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(frames_durable_));
    Options options = options_;
    options.executor = nullptr;
    Opened copy = OpenLog(*fs_, flushed_, options, kBackupDir);
    if (fs_->is_stopped()) return;
    ASSERT_TRUE(copy.status.ok()) << copy.status;
    EXPECT_TRUE(copy.report.cut_reason.empty()) << copy.report.cut_reason;
    std::vector<Replayed> after_flushed;
    for (const Replayed& frame : expected) {
      if (frame.position > flushed_) after_flushed.push_back(frame);
    }
    if (IsOs()) {
      ASSERT_GE(copy.replayed.size(), after_flushed.size());
      copy.replayed.resize(after_flushed.size());
    }
    ASSERT_EQ(copy.replayed, after_flushed);
    // The copy lives on by itself; what it writes must not reach the original,
    // whose content the coming reopenings compare.
    MustAppendOrStop(*copy.log);
  }

  void MustAppendOrStop(Log& log) {
    for (int i = 0; i < 3; ++i) {
      if (!log.Append("written to the copy").ok() || !log.Sync().ok()) {
        EXPECT_TRUE(fs_->is_stopped());
        return;
      }
    }
  }

  template <typename Then>
  void Check(const Status& status, Then then) {
    if (status.ok()) return then();
    Dead(status);
  }

  /// A call failed: that needs a cause, and is final.
  void Dead(const Status& status) {
    ASSERT_TRUE(has_faults_ || fs_->is_stopped()) << status;
    ASSERT_FALSE(log_->Append("x").ok());
    ASSERT_FALSE(log_->Seal().ok());
    End();
  }

  void End() {
    const bool is_kill = Random(3) == 0;
    if (log_ != nullptr && Random(4) == 0) log_.reset();  // an orderly end changes nothing
    is_kill ? fs_->Kill() : fs_->Crash();
    executor_.Clear();
    log_.reset();
    has_faults_ = false;
    if (!is_kill) was_power_cut_ = true;
  }

  void Reopen() {
    ASSERT_EQ(log_, nullptr);
    // The store holds a prefix of the synced frames, at least what it flushed.
    applied_ = flushed_;
    const std::size_t known = was_power_cut_ && !IsOs() ? frames_durable_ : frames_.size();
    if (was_open_ && known > 0 && Random(2) == 0) {
      applied_ = std::max(applied_, frames_[Random(known)].position);
    }
    flushed_ = applied_;  // it was read from disk
    was_open_ = false;    // the store gets nothing new before the log is open
    if (!is_quiet_ && Random(4) == 0) fs_->StopAfter(1 + Random(20));
    Opened opened = OpenLog(*fs_, applied_, options_);
    report_ = opened.report;
    // Whatever was replayed is on disk from now on, even if opening then failed.
    if (opened.status.ok() || !opened.replayed.empty()) Compare(opened);
    if (opened.status.ok()) {
      log_ = std::move(opened.log);
      was_power_cut_ = false;
      was_open_ = true;
      return;
    }
    if (opened.status.code() == absl::StatusCode::kResourceExhausted) {
      fs_->SetCapacity(std::nullopt);
    } else {
      ASSERT_TRUE(fs_->is_stopped()) << opened.status;
    }
    End();
  }

  void Compare(const Opened& opened) {
    // Keep what the store has, then see how far the log goes.
    std::size_t first = 0;
    while (first < frames_.size() && frames_[first].position <= applied_) ++first;
    const std::vector<Replayed>& replayed = opened.replayed;
    std::size_t same = 0;
    while (same < replayed.size() && first + same < frames_.size() &&
           replayed[same] == frames_[first + same]) {
      ++same;
    }
    const std::size_t kept = first + same;
    if (replayed.size() > same) {
      // One more than was acknowledged: only the pending frame, and only at the end.
      ASSERT_TRUE(pending_.has_value());
      ASSERT_EQ(kept, frames_.size());
      ASSERT_EQ(replayed.size(), same + 1);
      ASSERT_EQ(replayed.back().payload, pending_->payload);
      if (pending_->position != kBeginning) {
        ASSERT_EQ(replayed.back().position, pending_->position);
      }
      ASSERT_GT(replayed.back().position, frames_.empty() ? 0 : frames_.back().position);
      frames_.push_back(replayed.back());
    } else if (kept < frames_.size()) {
      // Only a weaker promise may lose acknowledged frames, and only to a power cut.
      ASSERT_TRUE(IsOs() && was_power_cut_);
      ASSERT_GE(kept, frames_durable_);
      frames_.resize(kept);
    }
    const bool may_cut = pending_.has_value() || has_torn_seal_ || (IsOs() && was_power_cut_);
    if (!may_cut) {
      ASSERT_TRUE(opened.report.cut_reason.empty()) << opened.report.cut_reason;
    }
    if (!IsOs()) {
      ASSERT_TRUE(opened.report.warnings.empty()) << opened.report.warnings.front();
    }
    pending_.reset();
    has_torn_seal_ = false;
    frames_durable_ = frames_.size();
  }

  std::mt19937_64 random_;
  std::unique_ptr<env::SimFileSystem> fs_;
  env::VirtualClock clock_;
  env::SteppedExecutor executor_;
  Options options_;

  std::vector<Replayed> frames_;     // those whose Sync returned, oldest first
  std::size_t frames_durable_ = 0;   // how many of them a power cut must leave
  std::optional<Replayed> pending_;  // the one whose Sync did not return
  Position flushed_ = kBeginning;    // the store can never be older than this
  Position applied_ = kBeginning;
  bool has_torn_seal_ = false;  // a seal may be half there, which matters to nobody
  bool is_quiet_ = false;
  bool has_faults_ = false;
  bool was_power_cut_ = false;  // since the log was last open
  bool was_open_ = false;       // since the store was last read
  bool has_backup_ = false;
  RecoveryReport report_;
  std::unique_ptr<Log> log_;  // last: it uses the others
};

TEST(LogModel, RandomHistoriesKeepEverySyncedFrameAndNothingHalf) {
  const std::uint64_t one = FromEnvironment("SLUICE_SEED", 0);
  const std::uint64_t seeds = FromEnvironment("SLUICE_SOAK_SEEDS", kSeedsDefault);
  const std::uint64_t first = one != 0 ? one : 1;
  const std::uint64_t last = one != 0 ? one : seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("reproduce: SLUICE_SEED=" + std::to_string(seed) + " log_model_test");
    History(seed).Run();
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace sluice::log
