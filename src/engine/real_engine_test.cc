// SPDX-License-Identifier: Apache-2.0
// The engine with its real threads on real files and the real store: it serves,
// survives a stop and a loss of its memory, and its backup (design, section 4
// rule 8) is a data directory of its own.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <latch>
#include <mutex>
#include <thread>

#include "engine/backup.h"
#include "engine/engine.h"
#include "env/posix/clock.h"
#include "env/posix/file_system.h"
#include "store/rocksdb_store.h"

namespace sluice::engine {
namespace {

constexpr auto kWaitMax = std::chrono::seconds(60);
const QueueName kQueue{{"p", "l"}, "q"};

// Succeeds at once.
class OkDispatcher : public Dispatcher {
 public:
  void Start(core::StartAttempt, Finished finished) override {
    core::AttemptOutcome outcome;
    outcome.http_status = 200;
    ++sent;
    finished(outcome);
  }
  std::atomic<int> sent = 0;
};

class RealEngineTest : public testing::Test {
 protected:
  RealEngineTest() {
    options_.log.segment_bytes_first = 64u << 10;
    options_.log.segment_bytes = 64u << 10;
    std::string pattern = testing::TempDir() + "sluice-engine-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~RealEngineTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<Engine> Open(const std::string& data) {
    EXPECT_TRUE(CheckBackupComplete(files_, data).ok());
    std::filesystem::create_directories(data + "/" + kLogDirName);
    auto store = store::OpenRocksDb({.path = data + "/" + kStoreDirName});
    EXPECT_TRUE(store.ok()) << store.status();
    Engine::Dependencies dependencies;
    dependencies.clock = &clock_;
    dependencies.files = &files_;
    dependencies.log_dir = data + "/" + kLogDirName;
    dependencies.store = *std::move(store);
    dependencies.dispatcher = &dispatcher_;
    dependencies.random_seed = 5;
    auto engine = Engine::Open(options_, std::move(dependencies), nullptr);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }

  static Reply Call(Engine& engine, Command command) {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Reply> result;
    engine.Submit(std::move(command), [&](Reply reply) {
      const std::lock_guard lock(mutex);
      result = std::move(reply);
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(done.wait_for(lock, kWaitMax, [&] { return result.has_value(); }));
    return result ? *std::move(result) : Reply(Internal("no reply"));
  }

  static Command Create(const std::string& id, Duration in = absl::Hours(1),
                        std::size_t body_bytes = 2000) {
    core::NewTask task;
    task.task_id = id;
    task.schedule_time = absl::Now() + in;
    task.request.url = "http://t/";
    task.request.body = std::string(body_bytes, 'b');
    return CreateTask{kQueue, task};
  }

  static bool Has(Engine& engine, const std::string& id) {
    return Call(engine, GetTask{TaskName{kQueue, id}}).ok();
  }

  std::string root_;
  Options options_;
  env::SystemClock clock_;
  env::PosixFileSystem files_;
  OkDispatcher dispatcher_;
};

TEST_F(RealEngineTest, WhatWasAcknowledgedIsThereAfterAStopAndAStart) {
  const std::string data = root_ + "/data";
  {
    auto engine = Open(data);
    ASSERT_TRUE(Call(*engine, CreateQueue{kQueue, {}}).ok());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(Call(*engine, Create(fmt::format("t{}", i))).ok());
    ASSERT_TRUE(Call(*engine, DeleteTask{TaskName{kQueue, "t7"}}).ok());
  }
  auto engine = Open(data);
  EXPECT_TRUE(Has(*engine, "t49"));
  EXPECT_FALSE(Has(*engine, "t7"));
  EXPECT_TRUE(absl::IsAlreadyExists(Call(*engine, Create("t7")).status()));
}

TEST_F(RealEngineTest, ADueTaskIsSentAndGone) {
  auto engine = Open(root_ + "/data");
  ASSERT_TRUE(Call(*engine, CreateQueue{kQueue, {}}).ok());
  ASSERT_TRUE(Call(*engine, Create("now", absl::ZeroDuration())).ok());
  while (Has(*engine, "now")) std::this_thread::yield();
  EXPECT_EQ(dispatcher_.sent, 1);
}

TEST_F(RealEngineTest, AStoppedEngineRefusesAndSaysSo) {
  auto engine = Open(root_ + "/data");
  engine->Stop(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsUnavailable(Call(*engine, GetQueue{kQueue}).status()));
}

// Without the rule for full frames the lane would wait for the interval, although
// nothing more can gather.
TEST_F(RealEngineTest, AFullFrameIsClosedAtOnceAlsoUnderLoad) {
  constexpr int kBusy = 8;
  options_.busy_frame_interval = absl::Hours(1);
  options_.frame_bytes_soft_max = 64u << 10;
  auto engine = Open(root_ + "/data");
  ASSERT_TRUE(Call(*engine, CreateQueue{kQueue, {}}).ok());

  // Replies leave on the lane, so one that waits holds it while commands gather: a
  // frame with all of them, which is what load looks like.
  std::promise<void> go;
  engine->Submit(GetQueue{kQueue}, [held = go.get_future().share()](Reply) { held.wait(); });
  std::latch created(kBusy);
  for (int i = 0; i < kBusy; ++i) {
    engine->Submit(Create(fmt::format("busy{}", i)), [&](Reply reply) {
      EXPECT_TRUE(reply.ok());
      created.count_down();
    });
  }
  go.set_value();
  created.wait();

  // So the next frame stays open,
  std::atomic<bool> is_small_done = false;
  const std::uint64_t before = engine->Metrics().commands;
  engine->Submit(Create("small"), [&](Reply reply) { is_small_done = reply.ok(); });
  while (engine->Metrics().commands == before) std::this_thread::yield();
  EXPECT_FALSE(is_small_done);
  // until it is full. A second large task does not fit and has the next one.
  std::latch large(2);
  for (const char* id : {"large", "larger"}) {
    engine->Submit(Create(id, absl::Hours(1), options_.frame_bytes_soft_max + 1), [&](Reply reply) {
      EXPECT_TRUE(reply.ok());
      large.count_down();
    });
  }
  const auto end = std::chrono::steady_clock::now() + kWaitMax;
  while (!large.try_wait() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(large.try_wait());
  EXPECT_TRUE(is_small_done);
  engine->Stop(absl::ZeroDuration());  // replies that are late refer to this test
}

TEST_F(RealEngineTest, Rule8ABackupUnderLoadHoldsWhatWasAcknowledgedBeforeIt) {
  const std::string data = root_ + "/data";
  const std::string copy = root_ + "/backup";
  constexpr int kBefore = 200;  // some 400 KiB: several segments
  std::atomic<bool> is_stopping = false;
  {
    auto engine = Open(data);
    ASSERT_TRUE(Call(*engine, CreateQueue{kQueue, {}}).ok());
    for (int i = 0; i < kBefore; ++i) {
      ASSERT_TRUE(Call(*engine, Create(fmt::format("b{}", i))).ok());
    }
    std::thread load([&] {
      for (int i = 0; !is_stopping; ++i) {
        ASSERT_TRUE(Call(*engine, Create(fmt::format("during{}", i))).ok());
      }
    });
    EXPECT_TRUE(engine->Backup(copy).ok());
    is_stopping = true;
    load.join();
    EXPECT_TRUE(absl::IsAlreadyExists(engine->Backup(copy)));
    ASSERT_TRUE(Call(*engine, Create("after")).ok());
  }
  {
    auto restored = Open(copy);
    ASSERT_NE(restored, nullptr);
    for (int i = 0; i < kBefore; ++i) EXPECT_TRUE(Has(*restored, fmt::format("b{}", i))) << i;
    EXPECT_FALSE(Has(*restored, "after"));
    // It lives on its own: what it writes does not reach the original.
    ASSERT_TRUE(Call(*restored, Create("only-in-the-copy")).ok());
  }
  auto original = Open(data);
  EXPECT_TRUE(Has(*original, "after"));
  EXPECT_FALSE(Has(*original, "only-in-the-copy"));
}

TEST_F(RealEngineTest, Rule8ABackupCutShortIsRefused) {
  const std::string copy = root_ + "/backup";
  {
    auto engine = Open(root_ + "/data");
    ASSERT_TRUE(engine->Backup(copy).ok());
  }
  EXPECT_TRUE(CheckBackupComplete(files_, copy).ok());
  // As a kill before the last step leaves it.
  std::filesystem::rename(copy + "/" + kBackupManifestName, copy + "/BACKUP-STARTED");
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckBackupComplete(files_, copy)));
}

}  // namespace
}  // namespace sluice::engine
