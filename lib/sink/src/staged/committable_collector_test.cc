// SPDX-License-Identifier: Apache-2.0
// The whole life of envelopes with a host around it: writer, barrier, collector,
// committer, restart.
#include "sluice/sink/staged/committable_collector.h"

#include <gmock/gmock.h>

#include <set>

#include "sluice/sink/staged/envelope_codec.h"
#include "sluice/sink/staged/staged_writer.h"
#include "staged/testing.h"

namespace sluice::sink {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;
using testing::AnEnvelope;
using ::testing::ElementsAre;
using testing::Fails;
using ::testing::HasSubstr;
using testing::Ok;
using ::testing::UnorderedElementsAreArray;

/// The service: a task for each name it has seen.
struct Service {
  std::set<std::string> tasks;
  std::vector<std::string> requests;
  testing::Calls calls;

  Service() {
    calls.on_create = [this] {
      requests.push_back(calls.all.back().request);
      const bool fresh = tasks.insert(calls.all.back().name).second;
      calls.answers = {fresh ? Ok() : Fails(StatusCode::kAlreadyExists)};
    };
  }
};

/// One job: everything that dies with its process.
struct Job {
  Job(testing::World& shared_world, testing::Calls& calls, StagedOptions staged = {})
      : world(shared_world), collector(metrics) {
    HostServices host = Services(world);
    host.metrics = &metrics;
    auto owned = std::make_unique<testing::FakeMapper>();
    mapper = owned.get();
    writer = *OpenStagedWriter(
        {.mapper = std::move(owned), .handler = FailJob(), .options = staged, .host = host});
    committer = MakeStagedCommitter({.queue = testing::Queue(), .writer = {}, .staged = staged},
                                    std::make_unique<testing::FakeCreator>(calls), host);
  }
  void Write(const std::string& record) { ASSERT_TRUE(writer->Write({.value = &record}).ok()); }
  std::string Barrier(std::int64_t checkpoint) {
    EXPECT_TRUE(writer->Flush(false).ok());
    auto batch = writer->PrepareCommit();
    EXPECT_TRUE(batch.ok());
    collector.Add(checkpoint, *std::move(batch));
    return Snapshot();
  }
  std::string Snapshot() {
    StatusOr<std::string> state = collector.Snapshot();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : "";
  }
  Status Complete(std::int64_t checkpoint) { return collector.CommitUpTo(checkpoint, *committer); }
  Status Restore(const std::vector<std::string_view>& states) {
    SLUICE_RETURN_IF_ERROR(collector.Restore(states));
    return collector.Initialize(*committer);
  }
  std::int64_t Metric(std::string_view name) { return metrics.Sample(name).value_or(-77); }

  testing::World& world;
  MetricRegistry metrics;
  testing::FakeMapper* mapper = nullptr;
  std::unique_ptr<SinkWriter> writer;
  std::unique_ptr<SinkCommitter> committer;
  CommittableCollector collector;
};

class StagedLifecycleTest : public ::testing::Test {
 protected:
  testing::World world_{1000};
  Service service_;
};

TEST_F(StagedLifecycleTest, NothingIsCreatedBeforeTheCheckpointIsComplete) {
  Job job(world_, service_.calls);
  job.Write("a");
  job.Write("a");
  EXPECT_EQ(job.collector.pending(), 0);
  job.Barrier(1);
  EXPECT_EQ(job.Metric("pendingCommittables"), 2);
  EXPECT_TRUE(job.writer->PrepareCommit()->empty());
  EXPECT_TRUE(service_.requests.empty());
  ASSERT_EQ(job.Complete(1), Status());
  EXPECT_EQ(service_.tasks.size(), 2U);
  EXPECT_EQ(job.Metric("pendingCommittables"), 0);
  EXPECT_EQ(job.Metric("successfulCommittables"), 2);
  ASSERT_TRUE(job.Complete(1).ok());
  EXPECT_EQ(service_.requests.size(), 2U);
}

TEST_F(StagedLifecycleTest, ARestoreSendsTheSameRequestsBeforeAnyRecord) {
  Job first(world_, service_.calls);
  first.Write("a");
  first.Write("a");
  const std::string state = first.Barrier(1);
  ASSERT_TRUE(first.Complete(1).ok());
  world_.Advance(std::chrono::seconds(2));
  const std::uint64_t draws = world_.random.draws;
  Job second(world_, service_.calls);
  ASSERT_TRUE(second.Restore({state}).ok());
  ASSERT_EQ(service_.requests.size(), 4U);
  EXPECT_EQ(service_.requests[0], service_.requests[2]);
  EXPECT_EQ(service_.requests[1], service_.requests[3]);
  EXPECT_EQ(service_.tasks.size(), 2U);
  EXPECT_EQ(second.Metric("alreadyCommittedCommittables"), 2);
  EXPECT_EQ(second.Metric("successfulCommittables"), 0);
  EXPECT_EQ(second.Metric("failedCommittables"), 0);
  EXPECT_EQ(second.mapper->serialized, 0);
  EXPECT_EQ(world_.random.draws, draws);
}

TEST_F(StagedLifecycleTest, StateKeepsBytesAndDeadlinesAndRefusesDamage) {
  Job first(world_, service_.calls);
  first.Write("a");
  const std::string state = first.Barrier(7);
  Job second(world_, service_.calls);
  ASSERT_TRUE(second.collector.Restore({state}).ok());
  EXPECT_EQ(second.Snapshot(), state);
  for (std::size_t at = 0; at < state.size(); ++at) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    MetricRegistry metrics;
    CommittableCollector collector(metrics);
    EXPECT_EQ(collector.Restore({damaged}).code(), StatusCode::kDataLoss) << at;
    EXPECT_EQ(collector.Restore({std::string_view(state).substr(0, at)}).code(),
              StatusCode::kDataLoss);
    EXPECT_EQ(collector.pending(), 0);
  }
}

TEST_F(StagedLifecycleTest, TheEndOfInputHasItsOwnCheckpoint) {
  Job job(world_, service_.calls);
  job.Write("a");
  job.Barrier(5);
  job.Write("b");
  ASSERT_TRUE(job.writer->Flush(true).ok());
  EXPECT_EQ(job.collector.AddEndOfInput(*job.writer->PrepareCommit()), 6);
  EXPECT_TRUE(service_.requests.empty());
  ASSERT_TRUE(job.Complete(5).ok());
  EXPECT_EQ(service_.tasks.size(), 1U);
  ASSERT_TRUE(job.Complete(6).ok());
  EXPECT_EQ(service_.tasks.size(), 2U);
}

TEST_F(StagedLifecycleTest, AnEndOfInputWithoutAnyCheckpointCommits) {
  Job job(world_, service_.calls);
  job.Write("a");
  const std::int64_t id = job.collector.AddEndOfInput(*job.writer->PrepareCommit());
  EXPECT_EQ(id, 1);
  ASSERT_TRUE(job.Complete(id).ok());
  EXPECT_EQ(service_.tasks.size(), 1U);
}

TEST_F(StagedLifecycleTest, AnAbortedCheckpointIsCommittedByTheNext) {
  Job job(world_, service_.calls);
  job.Write("a");
  job.Barrier(1);
  job.Write("b");
  job.Barrier(2);
  ASSERT_TRUE(job.Complete(2).ok());
  ASSERT_EQ(service_.requests.size(), 2U);
  EXPECT_THAT(service_.requests[0], HasSubstr("0001"));
  EXPECT_THAT(service_.requests[1], HasSubstr("0002"));
  ASSERT_TRUE(job.Complete(1).ok());
  EXPECT_EQ(service_.requests.size(), 2U);
}

TEST_F(StagedLifecycleTest, BatchesOfFailedCheckpointsAreCommittedInOrderAfterARestore) {
  Job first(world_, service_.calls);
  std::string state;
  for (int checkpoint = 1; checkpoint <= 3; ++checkpoint) {
    first.Write("a");
    state = first.Barrier(checkpoint);
  }
  Job second(world_, service_.calls);
  ASSERT_TRUE(second.Restore({state}).ok());
  ASSERT_EQ(service_.requests.size(), 3U);
  EXPECT_THAT(service_.requests[0], HasSubstr("0001"));
  EXPECT_THAT(service_.requests[1], HasSubstr("0002"));
  EXPECT_THAT(service_.requests[2], HasSubstr("0003"));
}

TEST_F(StagedLifecycleTest, WhatNoCheckpointOwnsIsNeverCommittedUnderItsOldName) {
  Job empty(world_, service_.calls);
  const std::string before = empty.Barrier(1);
  {
    Job emitted(world_, service_.calls);
    emitted.Write("a");  // dies before the barrier
  }
  {
    Job snapshot(world_, service_.calls);
    snapshot.Write("a");
    snapshot.Barrier(2);  // dies before checkpoint 2 is complete
  }
  EXPECT_TRUE(service_.requests.empty());
  Job replay(world_, service_.calls);
  ASSERT_TRUE(replay.Restore({before}).ok());
  replay.Write("a");
  replay.Barrier(2);
  ASSERT_TRUE(replay.Complete(2).ok());
  ASSERT_EQ(service_.requests.size(), 1U);
  EXPECT_THAT(service_.requests[0], HasSubstr("0003"));
}

TEST_F(StagedLifecycleTest, RescalingKeepsTheSetOfEnvelopes) {
  for (const std::size_t parallelism : {1U, 3U}) {
    Service service;
    Job one(world_, service.calls);
    Job two(world_, service.calls);
    for (Job* job : {&one, &two}) {
      job->Write("a");
      job->Write("b");
    }
    const std::string state_one = one.Barrier(1);
    const std::string state_two = two.Barrier(1);
    ASSERT_TRUE(one.Complete(1).ok());
    ASSERT_TRUE(two.Complete(1).ok());
    const std::vector<std::string> sent = std::exchange(service.requests, {});
    const std::uint64_t draws = world_.random.draws;
    for (const auto& share :
         CommittableCollector::Redistribute({state_one, state_two}, parallelism)) {
      Job restored(world_, service.calls);
      ASSERT_TRUE(restored.Restore(share).ok());
      EXPECT_EQ(restored.mapper->serialized, 0);
    }
    EXPECT_THAT(service.requests, UnorderedElementsAreArray(sent));
    EXPECT_EQ(service.tasks.size(), 4U);
    EXPECT_EQ(world_.random.draws, draws);
  }
}

TEST_F(StagedLifecycleTest, ClosingCommitsNothingAndEmptyStateRestores) {
  std::string state;
  {
    Job job(world_, service_.calls);
    state = job.Barrier(1);
    job.Write("a");
    job.Barrier(2);
    ASSERT_TRUE(job.writer->Close().ok());
    ASSERT_TRUE(job.committer->Close().ok());
  }
  EXPECT_TRUE(service_.requests.empty());
  Job job(world_, service_.calls);
  EXPECT_TRUE(job.Restore({state}).ok());
  EXPECT_TRUE(service_.requests.empty());
}

TEST_F(StagedLifecycleTest, APoisonEnvelopeFailsEveryRestoreUnchanged) {
  testing::Calls calls;
  Job first(world_, calls);
  first.Write("a");
  first.Write("poison");
  const std::string state = first.Barrier(1);
  for (int round = 0; round < 3; ++round) {
    Job job(world_, calls);
    calls.answers = {round == 0 ? Ok() : Fails(StatusCode::kAlreadyExists),
                     Fails(StatusCode::kInvalidArgument)};
    EXPECT_EQ(job.Restore({state}).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(job.collector.pending(), 2);
    EXPECT_EQ(job.Snapshot(), state);
  }
  ASSERT_EQ(calls.size(), 6U);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(calls.all[i].request, calls.all[i - 2].request);
}

TEST_F(StagedLifecycleTest, AfterTheWindowEveryRestoreFailsUntilAPolicyIsChosen) {
  Job first(world_, service_.calls);
  first.Write("a");
  const std::string state = first.Barrier(1);
  world_.Advance(milliseconds(3'280'000));
  for (int round = 0; round < 2; ++round) {
    Job job(world_, service_.calls);
    EXPECT_THAT(std::string(Message(job.Restore({state}))), HasSubstr("envelope expired"));
    EXPECT_EQ(job.Metric("expiredEnvelopesFailed"), 1);
    EXPECT_EQ(job.Snapshot(), state);
  }
  const auto options = [](ExpiredEnvelopePolicy policy) {
    // A longer promise than when it was staged revives nothing.
    return *StagedOptions::Builder()
                .set_name_retention(std::chrono::hours(200))
                .set_expired_envelope_policy(policy)
                .Build();
  };
  Job assume(world_, service_.calls, options(ExpiredEnvelopePolicy::kAssumeCommitted));
  EXPECT_TRUE(assume.Restore({state}).ok());
  EXPECT_EQ(assume.Metric("alreadyCommittedCommittables"), 1);
  Job drop(world_, service_.calls, options(ExpiredEnvelopePolicy::kDrop));
  EXPECT_TRUE(drop.Restore({state}).ok());
  EXPECT_EQ(drop.Metric("successfulCommittables"), 1);
  EXPECT_TRUE(service_.requests.empty());
  Job create(world_, service_.calls, options(ExpiredEnvelopePolicy::kCreateAnyway));
  EXPECT_TRUE(create.Restore({state}).ok());
  EXPECT_EQ(service_.tasks.size(), 1U);
}

TEST_F(StagedLifecycleTest, ACancelledCommitIsTakenUpByTheRestore) {
  Job first(world_, service_.calls);
  first.Write("a");
  first.Write("a");
  const std::string state = first.Barrier(1);
  const auto answering = std::exchange(service_.calls.on_create, nullptr);
  service_.calls.answers.clear();
  world_.on_idle = [&] { EXPECT_TRUE(first.committer->Close().ok()); };
  EXPECT_FALSE(first.Complete(1).ok());
  const std::string request = service_.calls.all.at(0).request;
  EXPECT_EQ(service_.calls.all[0].cancelled, 1);
  world_.on_idle = nullptr;
  service_.calls.on_create = answering;
  Job second(world_, service_.calls);
  ASSERT_TRUE(second.Restore({state}).ok());
  EXPECT_EQ(service_.requests.at(0), request);
  EXPECT_EQ(service_.tasks.size(), 2U);
  EXPECT_EQ(second.mapper->serialized, 0);
}

TEST_F(StagedLifecycleTest, AHostWithoutCollectorKeepsBatchesAsBytes) {
  Job job(world_, service_.calls);
  job.Write("a");
  job.Write("b");
  const StatusOr<std::string> bytes = EncodeBatch(*job.writer->PrepareCommit());
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(CommitEncodedBatch(*bytes, *job.committer).ok());
  EXPECT_TRUE(CommitEncodedBatch(*bytes, *job.committer).ok());
  EXPECT_EQ(service_.requests.size(), 4U);
  EXPECT_EQ(service_.tasks.size(), 2U);
  EXPECT_EQ(CommitEncodedBatch(bytes->substr(1), *job.committer).code(), StatusCode::kDataLoss);
}

TEST_F(StagedLifecycleTest, TheNextBatchIsAddedWhileACommitRuns) {
  Job job(world_, service_.calls);
  job.Write("a");
  job.Barrier(1);
  const auto answering = std::exchange(service_.calls.on_create, nullptr);
  bool is_first = true;
  service_.calls.on_create = [&] {
    if (std::exchange(is_first, false)) {
      job.Write("b");
      job.Barrier(2);
      EXPECT_EQ(job.collector.pending(), 2);
      EXPECT_FALSE(job.Complete(2).ok());  // one commit at a time
    }
    answering();
  };
  ASSERT_TRUE(job.Complete(1).ok());
  EXPECT_EQ(service_.tasks.size(), 1U);
  EXPECT_EQ(job.collector.pending(), 1);
  ASSERT_TRUE(job.Complete(2).ok());
  EXPECT_EQ(service_.tasks.size(), 2U);
}

}  // namespace
}  // namespace sluice::sink
