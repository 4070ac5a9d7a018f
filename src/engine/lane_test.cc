// SPDX-License-Identifier: Apache-2.0
// Proves what leaves a lane and when: replies and attempts only after the
// commit of the frame they rest on (design, section 4 rules 1 and 2), reads of
// changes that are not in the store yet, cold commands run again without a trace.
#include "engine/lane.h"

#include <gtest/gtest.h>

#include <optional>

#include "engine/recovery.h"
#include "store/model_store.h"

namespace sluice::engine {
namespace {

const Time kNow = absl::FromUnixSeconds(1'800'000'000);
const QueueName kQueue{{"p", "l"}, "q"};

// Keeps what the lane asked for until the test answers.
class HeldPorts : public LanePorts {
 public:
  void Commit(Frame frame) override { frames.push_back(std::move(frame)); }
  void Read(ReadRequest request) override { reads.push_back(std::move(request)); }
  void StartAttempt(core::StartAttempt attempt) override { attempts.push_back(std::move(attempt)); }

  std::vector<Frame> frames;
  std::vector<ReadRequest> reads;
  std::vector<core::StartAttempt> attempts;
};

class LaneTest : public testing::Test {
 protected:
  explicit LaneTest(double cold_fraction = 0) : store_({1, cold_fraction}) {
    lane_.emplace(LaneOptions{}, store_, ports_);
    EXPECT_TRUE(lane_->Recover(Checkpoint{}, kNow).ok());
    Settle();
  }

  // Submits and remembers the reply in the returned slot.
  std::shared_ptr<std::optional<Reply>> Send(Command command) {
    auto slot = std::make_shared<std::optional<Reply>>();
    lane_->Handle(
        std::move(command), [slot](Reply reply) { *slot = std::move(reply); }, kNow);
    lane_->FinishRound(kNow);
    return slot;
  }

  void CommitNext() {
    ASSERT_FALSE(ports_.frames.empty());
    lane_->OnCommitted(ports_.frames.front().number);
    ASSERT_TRUE(
        store_
            .Apply(BatchForStore(ports_.frames.front().batch, ports_.frames.front().checkpoint,
                                 ports_.frames.front().number))
            .ok());
    applied_ = ports_.frames.front().number;
    ports_.frames.erase(ports_.frames.begin());
    lane_->FinishRound(kNow);
  }

  // Answers everything until nothing is asked any more.
  void Settle() {
    while (!ports_.frames.empty() || !ports_.reads.empty()) {
      if (!ports_.frames.empty()) {
        CommitNext();
        lane_->OnApplied(applied_);
      }
      std::vector<ReadRequest> reads;
      reads.swap(ports_.reads);
      for (const ReadRequest& read : reads) lane_->OnRead(RunRead(store_, read), kNow);
      lane_->FinishRound(kNow);
    }
  }

  static Command Create(std::string id, Duration in = absl::Hours(1)) {
    core::NewTask task;
    task.task_id = std::move(id);
    task.schedule_time = kNow + in;
    task.request.url = "http://t/";
    return CreateTask{kQueue, task};
  }

  void MakeQueue() {
    const auto reply = Send(CreateQueue{kQueue, {}});
    Settle();
    ASSERT_TRUE(reply->has_value() && (*reply)->ok());
  }

  store::ModelStore store_;
  HeldPorts ports_;
  std::optional<Lane> lane_;
  FrameNumber applied_ = 0;
};

TEST_F(LaneTest, AFrameHeldOpenGathersWhatComesAndThenLeavesAsOne) {
  MakeQueue();
  for (const char* id : {"a", "b"}) {
    lane_->Handle(
        Create(id), [](Reply) {}, kNow);
    lane_->FinishRound(kNow, /*may_close=*/false);
    EXPECT_TRUE(ports_.frames.empty());
    EXPECT_TRUE(lane_->has_frame_to_close());
  }
  lane_->FinishRound(kNow);
  EXPECT_EQ(ports_.frames.size(), 1u);
  EXPECT_TRUE(lane_->is_committing());
  EXPECT_FALSE(lane_->has_frame_to_close());
}

TEST_F(LaneTest, AWriteIsAnsweredAfterItsFrameIsCommittedAndNotBefore) {
  const auto reply = Send(CreateQueue{kQueue, {}});
  EXPECT_FALSE(reply->has_value());
  ASSERT_EQ(ports_.frames.size(), 1u);
  CommitNext();
  ASSERT_TRUE(reply->has_value());
  EXPECT_TRUE((*reply)->ok());
}

TEST_F(LaneTest, AReadWaitsForTheChangesItSaw) {
  MakeQueue();
  Send(Create("a"));
  const auto get = Send(GetTask{TaskName{kQueue, "a"}});
  EXPECT_FALSE(get->has_value()) << "the reply tells of a task that a crash could still undo";
  CommitNext();
  ASSERT_TRUE(get->has_value());
  EXPECT_TRUE((*get)->ok());
}

TEST_F(LaneTest, AReadOfDurableStateIsAnsweredAtOnce) {
  MakeQueue();
  const auto get = Send(GetQueue{kQueue});
  ASSERT_TRUE(get->has_value());
  EXPECT_TRUE((*get)->ok());
}

TEST_F(LaneTest, CommandsDuringACommitShareTheNextFrame) {
  MakeQueue();
  const auto first = Send(Create("a"));
  const auto second = Send(Create("b"));
  const auto third = Send(Create("c"));
  EXPECT_EQ(ports_.frames.size(), 1u) << "one frame at a time";
  CommitNext();
  EXPECT_TRUE(first->has_value());
  EXPECT_FALSE(second->has_value());
  ASSERT_EQ(ports_.frames.size(), 1u);
  CommitNext();
  EXPECT_TRUE(second->has_value());
  EXPECT_TRUE(third->has_value());
}

TEST_F(LaneTest, AnAttemptLeavesAfterItsStartIsDurable) {
  MakeQueue();
  Send(Create("a", absl::ZeroDuration()));
  EXPECT_TRUE(ports_.attempts.empty());
  while (!ports_.frames.empty() && ports_.attempts.empty()) CommitNext();
  ASSERT_EQ(ports_.attempts.size(), 1u);
  // What is committed says that the attempt was started.
  std::string progress;
  const auto lookup = store_.Get(store::ProgressKey(1, ports_.attempts[0].task.body->sequence),
                                 store::ReadMode::kBlocking, &progress);
  ASSERT_TRUE(lookup.ok());
  ASSERT_EQ(*lookup, store::Lookup::kFound);
  EXPECT_EQ(DecodeProgress(progress)->dispatch_count, 1);
}

TEST_F(LaneTest, ChangesNotInTheStoreAreReadFromTheOverlay) {
  MakeQueue();
  Send(Create("a"));
  CommitNext();  // committed, but the lane was not told that the store has it
  store_.Crash();
  const auto get = Send(GetTask{TaskName{kQueue, "a"}});
  ASSERT_TRUE(get->has_value());
  EXPECT_TRUE((*get)->ok());
}

TEST_F(LaneTest, AListingSeesTheOverlayToo) {
  MakeQueue();
  Send(Create("a"));
  Send(Create("b"));
  const auto list = Send(ListTasks{kQueue, 0, 10});
  Settle();
  ASSERT_TRUE(list->has_value() && (*list)->ok());
  EXPECT_EQ(std::get<TaskPage>(***list).tasks.size(), 2u);
}

TEST_F(LaneTest, PagesFollowEachOtherWithoutGapOrRepeat) {
  MakeQueue();
  for (const char* id : {"a", "b", "c", "d", "e"}) Send(Create(id));
  Settle();
  std::vector<std::string> seen;
  core::Sequence after = 0;
  do {
    const auto list = Send(ListTasks{kQueue, after, 2});
    Settle();
    ASSERT_TRUE(list->has_value() && (*list)->ok());
    const auto& page = std::get<TaskPage>(***list);
    for (const core::Task& task : page.tasks) seen.push_back(task.body->task_id);
    after = page.next_after;
  } while (after != 0);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

TEST_F(LaneTest, AFullDiskRefusesNewWorkAndLetsTheRestGoOn) {
  MakeQueue();
  Send(Create("a"));
  Settle();
  lane_->set_is_space_low(true);
  const auto create = Send(Create("b"));
  const auto remove = Send(DeleteTask{TaskName{kQueue, "a"}});
  Settle();
  ASSERT_TRUE(create->has_value());
  EXPECT_TRUE(absl::IsResourceExhausted((*create)->status()));
  ASSERT_TRUE(remove->has_value());
  EXPECT_TRUE((*remove)->ok());
  lane_->set_is_space_low(false);
  const auto again = Send(Create("b"));
  Settle();
  EXPECT_TRUE((*again)->ok());
}

TEST_F(LaneTest, TimeNeverGoesBackwards) {
  MakeQueue();
  lane_->FinishRound(kNow + absl::Minutes(5));
  Send(Create("a", absl::ZeroDuration()));  // with the earlier clock
  ASSERT_FALSE(ports_.frames.empty());
  EXPECT_GE(ports_.frames.back().checkpoint.time, kNow + absl::Minutes(5));
}

class ColdLaneTest : public LaneTest {
 protected:
  ColdLaneTest() : LaneTest(1.0) {}
};

TEST_F(ColdLaneTest, AColdCommandRunsAgainAfterItsRead) {
  MakeQueue();
  const auto create = Send(Create("a"));
  EXPECT_FALSE(ports_.reads.empty()) << "the name must be looked up on disk";
  EXPECT_TRUE(ports_.frames.empty()) << "a cold command leaves no trace";
  Settle();
  ASSERT_TRUE(create->has_value());
  EXPECT_TRUE((*create)->ok());
  EXPECT_GE(lane_->counters().commands_cold, 1u);
}

TEST_F(ColdLaneTest, TwoColdCreatesOfOneNameMakeOneTask) {
  MakeQueue();
  const auto first = Send(Create("a"));
  const auto second = Send(Create("a"));
  Settle();
  ASSERT_TRUE(first->has_value() && second->has_value());
  EXPECT_EQ((*first)->ok() + (*second)->ok(), 1);
}

}  // namespace
}  // namespace sluice::engine
