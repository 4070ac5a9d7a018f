// SPDX-License-Identifier: Apache-2.0
#include "admin/queue_apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/engine_call.h"
#include "admin/fake_engine.h"

namespace sluice::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kQueue = "projects/p/locations/l/queues/q";

Config Declared(std::string_view settings) {
  const std::string text = fmt::format("queues:\n  - name: {}\n{}", kQueue, settings);
  return ParseConfig(text, "f.yaml").value();
}

TEST(QueueApply, AMissingQueueIsCreatedAndPausedAsDeclared) {
  FakeEngine engine;
  const ApplyReport report = ApplyQueues(
      Declared("    state: PAUSED\n    rate_limits: {max_dispatches_per_second: 10}\n"), engine);
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].kind, QueueChange::Kind::kCreated);
  EXPECT_THAT(engine.TakeSubmitted(), ElementsAre("GetQueue", "CreateQueue", "PauseQueue"));
  const core::Queue& queue = engine.queues.begin()->second;
  EXPECT_EQ(queue.config.rate.max_dispatches_per_second, 10);
  EXPECT_EQ(queue.state, core::QueueState::kPaused);
}

TEST(QueueApply, TheSecondTimeChangesNothing) {
  FakeEngine engine;
  const Config config = Declared("    state: PAUSED\n    retry_config: {max_attempts: 3}\n");
  ApplyQueues(config, engine);
  engine.TakeSubmitted();
  const ApplyReport report = ApplyQueues(config, engine);
  EXPECT_THAT(report.changes, IsEmpty());
  EXPECT_EQ(report.unchanged, 1u);
  EXPECT_THAT(engine.TakeSubmitted(), ElementsAre("GetQueue"));
}

TEST(QueueApply, OnlyWhatDiffersIsUpdatedAndReported) {
  FakeEngine engine;
  ApplyQueues(Declared("    retry_config: {max_attempts: 3, max_backoff: 10s}\n"), engine);
  const ApplyReport report = ApplyQueues(
      Declared("    retry_config: {max_attempts: 5, max_backoff: 10s}\n    state: PAUSED\n"),
      engine);
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].kind, QueueChange::Kind::kUpdated);
  EXPECT_THAT(report.changes[0].details,
              ElementsAre("max_attempts 3 -> 5", "state RUNNING -> PAUSED"));
  EXPECT_EQ(Summary(report), "0 created, 1 updated, 0 unchanged");
}

TEST(QueueApply, UndeclaredSettingsAndStatesAreLeftAlone) {
  FakeEngine engine;
  ApplyQueues(Declared("    state: PAUSED\n    retry_config: {max_attempts: 3}\n"), engine);
  EXPECT_THAT(ApplyQueues(Declared(""), engine).changes, IsEmpty());
  EXPECT_EQ(engine.queues.begin()->second.state, core::QueueState::kPaused);
  EXPECT_EQ(engine.queues.begin()->second.config.retry.max_attempts, 3);
}

TEST(QueueApply, ADeclaredBurstIsSentAgainWhenTheRateChanges) {
  FakeEngine engine;
  ApplyQueues(Declared("    rate_limits: {max_dispatches_per_second: 10, max_burst_size: 3}\n"),
              engine);
  engine.queues.begin()->second.config.rate.max_dispatches_per_second = 20;
  ApplyQueues(Declared("    rate_limits: {max_dispatches_per_second: 10, max_burst_size: 3}\n"),
              engine);
  EXPECT_EQ(engine.queues.begin()->second.config.rate.max_burst_size, 3);
}

TEST(QueueApply, OneQueueThatCannotBeAppliedDoesNotStopTheOthers) {
  FakeEngine engine;
  const std::string text =
      fmt::format("queues:\n  - name: {}\n    retry_config: {{max_attempts: 5}}\n  - name: {}2\n",
                  kQueue, kQueue);
  engine.queues[QueueName::Parse(kQueue).value()] = {};
  engine.update_status = InvalidArgument("refused");
  const ApplyReport report = ApplyQueues(ParseConfig(text, "f.yaml").value(), engine);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0], fmt::format("f.yaml:2:5: queue {}: refused", kQueue));
  EXPECT_EQ(report.changes.size(), 1u);
  EXPECT_THAT(Summary(report), HasSubstr("1 failed"));
}

TEST(EngineCall, AnEngineThatDoesNotAnswerEndsTheWaitByDeadline) {
  FakeEngine engine;
  engine.is_silent = true;
  const engine::Reply reply =
      Call(engine, engine::GetQueue{QueueName::Parse(kQueue).value()}, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(reply.status()));
}

}  // namespace
}  // namespace sluice::admin
