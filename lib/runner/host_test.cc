// SPDX-License-Identifier: Apache-2.0
//
// The loop against a model sink that can crash at each of its calls: what counts is
// which records became tasks, and how often.

#include "runner/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "env/sim/file_system.h"

namespace sluice::runner {
namespace {

/// The service: tasks by name; a second create of a name makes none.
struct Service {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> tasks;
  bool is_holding = false;

  void Create(const std::string& name) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !is_holding; });
    tasks.insert(name);
  }
};

/// Stages lines; names them by a number that no two staged ones share.
class StagingSink : public SinkPort {
 public:
  StagingSink(Service* service, int* names, int* calls_left)
      : service_(service), names_(names), calls_left_(calls_left) {}

  Status Write(Record record) override {
    SLUICE_RETURN_IF_ERROR(Step());
    batch_ += fmt::format("{}#{}\n", record.text, (*names_)++);
    ++tasks_;
    most_staged = std::max(most_staged, tasks_);
    return {};
  }
  Status Pump() override { return {}; }
  Status Flush(bool /*is_end_of_input*/) override { return Step(); }
  StatusOr<std::string> TakeBatch() override {
    SLUICE_RETURN_IF_ERROR(Step());
    tasks_ = 0;
    return std::exchange(batch_, "");
  }
  Status Commit(const std::string& batch) override {
    for (std::size_t begin = 0; begin < batch.size();) {
      SLUICE_RETURN_IF_ERROR(Step());
      const std::size_t end = batch.find('\n', begin);
      service_->Create(batch.substr(begin, end - begin));
      begin = end + 1;
    }
    return Step();
  }
  Status Close() override { return {}; }
  [[nodiscard]] BatchFill fill() const override {
    return {.tasks = tasks_, .bytes = 0, .tasks_max = tasks_max, .bytes_max = 1 << 30};
  }

  std::int64_t tasks_max = 8;
  std::int64_t most_staged = 0;

 private:
  Status Step() {
    const std::lock_guard lock(steps_);
    if (*calls_left_ == 0) return Aborted("the process died here");
    if (*calls_left_ > 0) --*calls_left_;
    return {};
  }

  Service* service_;
  int* names_;
  std::mutex steps_;
  int* calls_left_;
  std::string batch_;
  std::int64_t tasks_ = 0;
};

class HostTest : public testing::Test {
 protected:
  HostTest() : path_(testing::TempDir() + "/host_test_" + std::to_string(getpid()) + ".ndjson") {}
  ~HostTest() override { std::filesystem::remove(path_); }

  void WriteInput(int lines) {
    std::ofstream out(path_);
    for (int i = 0; i < lines; ++i) out << "{\"n\":" << i << "}\n";
  }

  /// One life of the process. `calls` is how many steps of the sink it has; -1: enough.
  Status Life(int calls, const std::string& job = "job") {
    auto source = *RecordSource::Make({path_});
    StagingSink sink(&service_, &names_, &calls);
    sink.tasks_max = tasks_max_;
    auto store = CheckpointStore::Open(files_, "/checkpoints");
    SLUICE_RETURN_IF_ERROR(store.status());
    SteadyTime now;
    Status status;
    {
      Host host({.source = source.get(),
                 .sink = &sink,
                 .checkpoints = &*store,
                 .job = job,
                 .interval = interval_,
                 .now = [&now] { return now += std::chrono::milliseconds(1); },
                 .on_turn = nullptr});
      status = host.Run();
      checkpoints_ = host.figures().checkpoints;
      early_ = host.figures().early_checkpoints;
    }
    most_staged_ = sink.most_staged;
    return status;
  }

  /// How many tasks each line became.
  std::map<std::string, int> Counts() {
    std::map<std::string, int> counts;
    for (const std::string& name : service_.tasks) ++counts[name.substr(0, name.find('#'))];
    return counts;
  }

  void ExpectEachOnce(int lines) {
    const auto counts = Counts();
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(lines));
    for (const auto& [line, count] : counts) EXPECT_EQ(count, 1) << line;
  }

  std::string path_;
  env::SimFileSystem files_{1};
  Service service_;
  int names_ = 0;
  std::int64_t tasks_max_ = 8;
  std::chrono::milliseconds interval_{5};
  std::uint64_t checkpoints_ = 0;
  std::uint64_t early_ = 0;
  std::int64_t most_staged_ = 0;
};

TEST_F(HostTest, AnInputLargerThanTheCapsPassesWithoutEverExceedingThem) {
  WriteInput(500);
  interval_ = std::chrono::hours(1);
  ASSERT_TRUE(Life(-1).ok());
  ExpectEachOnce(500);
  EXPECT_LE(most_staged_, tasks_max_);
  EXPECT_GT(early_, 0);
}

TEST_F(HostTest, AFinishedInputCreatesNothingWhenStartedAgain) {
  WriteInput(20);
  ASSERT_TRUE(Life(-1).ok());
  const auto before = service_.tasks;
  ASSERT_TRUE(Life(-1).ok());
  EXPECT_EQ(service_.tasks, before);
  EXPECT_EQ(checkpoints_, 0) << "nothing changed, so nothing is to be saved";
}

TEST_F(HostTest, ACrashAtAnyStepLeavesEachRecordExactlyOneTask) {
  constexpr int kLines = 30;
  WriteInput(kLines);
  int crashes = 0;
  for (int calls = 0;; ++calls) {
    service_.tasks.clear();
    for (const std::string& name :
         files_.List("/checkpoints").value_or(std::vector<std::string>{})) {
      if (name == "LOCK") continue;
      ASSERT_TRUE(files_.Remove("/checkpoints/" + name).ok());
    }
    const Status first = Life(calls);
    if (!first.ok()) {
      ++crashes;
      // Dies a second time soon after, then runs to the end.
      IgnoreError(Life(3), "it may die or end");
      ASSERT_TRUE(Life(-1).ok());
    }
    ExpectEachOnce(kLines);
    if (first.ok()) break;
  }
  EXPECT_GT(crashes, kLines);
}

TEST_F(HostTest, TheCheckpointOfAnotherJobIsRefused) {
  WriteInput(3);
  ASSERT_TRUE(Life(-1, "job").ok());
  const Status status = Life(-1, "other job");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(Message(status)), testing::HasSubstr("belongs to another run"));
}

TEST_F(HostTest, AFailedCommitEndsTheRun) {
  WriteInput(3);
  const Status status = Life(5);  // three writes, flush, take; the commit dies
  EXPECT_TRUE(absl::IsAborted(status));
}

}  // namespace
}  // namespace sluice::runner
