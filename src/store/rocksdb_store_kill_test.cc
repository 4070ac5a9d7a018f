// SPDX-License-Identifier: Apache-2.0
// Kills a writing process with SIGKILL at random moments and demands that the
// store then holds exactly the first N batches, where N is its own applied
// position, and N is at least the last position whose flush had returned.
//
// The child is this same program with --child: it goes on from the position it
// finds, applies numbered batches and flushes at random, and reports every step
// through a pipe. The parent kills it after a random number of reports, while
// it is anywhere in its next steps. What a kill cannot show is a page that the
// kernel had but the disk had not; syncs are RocksDB's own.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "store/all_rows.h"
#include "store/model_store.h"
#include "store/random_batch.h"
#include "store/rocksdb_store.h"
#include "store/scratch_dir.h"
#include "store/soak.h"

namespace sluice::store {
namespace {

constexpr int kRoundsNormal = 10;
constexpr std::uint64_t kReportsMax = 3000;
constexpr std::size_t kValueBytesMax = 800;
constexpr std::uint64_t kFlushOneIn = 100;
constexpr std::uint64_t kSeed = 20;  // of the batches; equal in parent and child

/// What the child tells: it finished a step at a position. One write, so atomic.
struct Report {
  std::uint64_t position = 0;
  std::uint64_t is_flush = 0;
};

std::unique_ptr<Store> MustOpen(const std::string& path) {
  // Small memtables: background flushes and compactions get killed as well.
  auto store = OpenRocksDb({.path = path, .write_buffer_bytes = 128u << 10});
  SLUICE_CHECK(store.ok(), Message(store.status()));
  return *std::move(store);
}

std::uint64_t AppliedPosition(const Store& store) {
  std::string value;
  const auto found = store.Get(kMetaKey, ReadMode::kBlocking, &value);
  SLUICE_CHECK(found.ok(), Message(found.status()));
  return *found == Lookup::kFound ? PositionIn(value) : 0;
}

/// Runs until it is killed, or until the parent closes the pipe.
int RunChild(const std::string& path, std::uint64_t seed, int report_fd) {
  const auto store = MustOpen(path);
  std::mt19937_64 rng(seed);
  const auto report = [&](Report r) { return ::write(report_fd, &r, sizeof r) == sizeof r; };
  for (std::uint64_t position = AppliedPosition(*store) + 1;; ++position) {
    SLUICE_CHECK(store->Apply(RandomBatch(kSeed, position, kValueBytesMax)).ok(), "apply failed");
    if (!report({.position = position, .is_flush = 0})) return EXIT_FAILURE;
    if (rng() % kFlushOneIn != 0) continue;
    SLUICE_CHECK(store->Flush().ok(), "flush failed");
    if (!report({.position = position, .is_flush = 1})) return EXIT_FAILURE;
  }
}

class KillRig {
 public:
  /// Starts a child, kills it after `reports`, and opens what it left.
  void Round(std::uint64_t seed, std::uint64_t reports) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(fds[0]);
      const std::string seed_text = std::to_string(seed);
      const std::string fd_text = std::to_string(fds[1]);
      ::execl("/proc/self/exe", "store_kill_test", "--child", path_.c_str(), seed_text.c_str(),
              fd_text.c_str(), nullptr);
      ::_exit(EXIT_FAILURE);
    }
    ::close(fds[1]);
    Report report;
    for (std::uint64_t i = 0; i < reports && Read(fds[0], &report); ++i) Note(report);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    while (Read(fds[0], &report)) Note(report);  // what was written before the kill
    ::close(fds[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself";
    Check();
  }

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] int rounds_with_loss() const { return rounds_with_loss_; }

 private:
  static bool Read(int fd, Report* report) {
    return ::read(fd, report, sizeof *report) == sizeof *report;
  }

  void Note(const Report& report) {
    (report.is_flush != 0 ? flushed_ : applied_) = report.position;
  }

  void Check() {
    const auto store = MustOpen(path_);
    const std::uint64_t kept = AppliedPosition(*store);
    ASSERT_GE(kept, flushed_) << "a flushed batch was lost";
    ASSERT_LE(kept, applied_ + 1) << "a batch that was never applied";
    ASSERT_GE(kept, position_) << "the store went behind what it showed after the last kill";
    if (kept < applied_) ++rounds_with_loss_;
    for (std::uint64_t next = position_ + 1; next <= kept; ++next) {
      ASSERT_TRUE(model_.Apply(RandomBatch(kSeed, next, kValueBytesMax)).ok());
    }
    ASSERT_TRUE(model_.Flush().ok());
    position_ = applied_ = flushed_ = kept;
    ASSERT_EQ(AllRows(*store), AllRows(model_)) << "not the first " << kept << " batches";
    const auto flushed = store->GetFlushed(kMetaKey);
    ASSERT_TRUE(flushed.ok() && (kept == 0 || flushed->has_value()));
    if (kept != 0) {
      ASSERT_EQ(PositionIn(**flushed), kept);
    }
  }

  ScratchDir dir_;
  const std::string path_ = dir_.path() + "/store";
  ModelStore model_;            // the first `position_` batches
  std::uint64_t position_ = 0;  // found after the last kill
  std::uint64_t applied_ = 0;   // reported since
  std::uint64_t flushed_ = 0;   // reported since
  int rounds_with_loss_ = 0;
};

TEST(RocksDbStoreKill, KilledStoreHoldsExactlyAPrefixFromTheLastFlushOn) {
  const int rounds = RoundsOr(kRoundsNormal);
  std::mt19937_64 rng(1);
  KillRig rig;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    // A fifth of the rounds is killed early, some in the middle of opening.
    const std::uint64_t reports = round % 5 == 4 ? rng() % 3 : rng() % kReportsMax;
    rig.Round(rng(), reports);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(rig.position(), 0u);
  // Otherwise the kills came when nothing was at risk, and this test proves nothing.
  EXPECT_GT(rig.rounds_with_loss(), 0);
}

}  // namespace
}  // namespace sluice::store

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--child") == 0) {
    return sluice::store::RunChild(argv[2], std::strtoull(argv[3], nullptr, 10),
                                   std::atoi(argv[4]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
