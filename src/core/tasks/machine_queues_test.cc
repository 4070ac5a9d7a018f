// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/tasks/testing/machine_harness.h"

// Queues: creation, settings and their bounds, listing, deletion.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using testing::TestEpoch;
using testing::TestQueue;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Mentions(const Status& status, std::string_view text) {
  return Message(status).find(text) != std::string_view::npos;
}

TEST(MachineQueues, AQueueWithoutSettingsHasTheServicesDefaults) {
  MachineHarness h;
  const auto queue = h.CreateQueue("q");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->config.rate, (RateLimits{500, 100, 1000}));
  EXPECT_EQ(queue->config.retry, RetryConfig{});
  EXPECT_EQ(queue->config.task_ttl, absl::Hours(24 * 31));
  EXPECT_EQ(queue->config.tombstone_ttl, absl::Hours(1));
  EXPECT_EQ(queue->state, QueueState::kRunning);
  EXPECT_FALSE(queue->purge_time.has_value());
}

TEST(MachineQueues, ASecondCreateIsRefused) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  const auto again = h.CreateQueue("q");
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Mentions(again.status(), "projects/p/locations/l/queues/q"));
}

TEST(MachineQueues, BurstIsDerivedFromTheRate) {
  MachineHarness h;
  const std::pair<double, int> cases[] = {{0.25, 10}, {1, 10},  {5, 10},
                                          {51, 11},   {52, 11}, {500, 100}};
  for (const auto& [rate, burst] : cases) {
    const auto queue =
        h.UpdateQueue(fmt::format("q{}", burst), {.max_dispatches_per_second = rate});
    ASSERT_TRUE(queue.ok());
    EXPECT_EQ(queue->config.rate.max_dispatches_per_second, rate);
    EXPECT_EQ(queue->config.rate.max_burst_size, burst) << rate;
  }
}

TEST(MachineQueues, BurstFollowsARateThatChangesUnlessItIsGiven) {
  MachineHarness h;
  ASSERT_EQ(h.CreateQueue("q", {.max_burst_size = 7})->config.rate.max_burst_size, 7);
  EXPECT_EQ(h.UpdateQueue("q", {.max_attempts = 5})->config.rate.max_burst_size, 7);
  EXPECT_EQ(h.UpdateQueue("q", {.max_dispatches_per_second = 10})->config.rate.max_burst_size, 10);
  EXPECT_EQ(h.UpdateQueue("q", {.max_dispatches_per_second = 400, .max_burst_size = 3})
                ->config.rate.max_burst_size,
            3);
  EXPECT_EQ(h.UpdateQueue("q", {.max_burst_size = 0})->config.rate.max_burst_size, 80);
}

TEST(MachineQueues, ZeroMeansTheDefaultForRateConcurrencyAndAttempts) {
  MachineHarness h;
  ASSERT_TRUE(
      h.CreateQueue(
           "q", {.max_dispatches_per_second = 1, .max_concurrent_dispatches = 1, .max_attempts = 1})
          .ok());
  const auto queue = h.UpdateQueue(
      "q", {.max_dispatches_per_second = 0, .max_concurrent_dispatches = 0, .max_attempts = 0});
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->config.rate, (RateLimits{500, 100, 1000}));
  EXPECT_EQ(queue->config.retry.max_attempts, 100);
}

struct Refused {
  QueuePatch patch;
  std::string_view field;
  std::string_view value;
};

TEST(MachineQueues, SettingsOutOfBoundsAreRefusedWithFieldAndValue) {
  const Refused cases[] = {
      {{.max_dispatches_per_second = -1}, "max_dispatches_per_second", "-1"},
      {{.max_dispatches_per_second = 500.1}, "max_dispatches_per_second", "500.1"},
      {{.max_dispatches_per_second = kNan}, "max_dispatches_per_second", "nan"},
      {{.max_dispatches_per_second = kInfinity}, "max_dispatches_per_second", "inf"},
      {{.max_burst_size = 501}, "max_burst_size", "501"},
      {{.max_burst_size = -1}, "max_burst_size", "-1"},
      {{.max_concurrent_dispatches = -1}, "max_concurrent_dispatches", "-1"},
      {{.max_concurrent_dispatches = 5001}, "max_concurrent_dispatches", "5001"},
      {{.max_attempts = -2}, "max_attempts", "-2"},
      {{.max_retry_duration = absl::Seconds(-1)}, "max_retry_duration", "-1s"},
      {{.min_backoff = absl::Seconds(-1)}, "min_backoff", "-1s"},
      {{.max_backoff = absl::Seconds(-1)}, "max_backoff", "-1s"},
      {{.max_doublings = -1}, "max_doublings", "-1"},
      {{.min_backoff = absl::Seconds(10), .max_backoff = absl::Seconds(5)}, "min_backoff", "10s"},
      {{.max_backoff = absl::Milliseconds(50)}, "min_backoff", "100ms"},
      {{.log_sampling_ratio = 1.5}, "sampling_ratio", "1.5"},
      {{.log_sampling_ratio = -0.1}, "sampling_ratio", "-0.1"},
      {{.log_sampling_ratio = kNan}, "sampling_ratio", "nan"},
      {{.task_ttl = absl::Hours(24 * 9)}, "task_ttl", "216h"},
      {{.task_ttl = absl::Hours(24 * 4000)}, "task_ttl", "96000h"},
      {{.tombstone_ttl = absl::Minutes(59)}, "tombstone_ttl", "59m"},
      {{.tombstone_ttl = absl::Hours(24 * 10)}, "tombstone_ttl", "240h"},
  };
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("existing").ok());
  const Queue before = *h.machine().GetQueue(TestQueue("existing"));
  for (const Refused& refused : cases) {
    for (const char* id : {"new", "existing"}) {
      const Status status = h.UpdateQueue(id, refused.patch).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refused.field;
      EXPECT_TRUE(Mentions(status, refused.field)) << Message(status);
      EXPECT_TRUE(Mentions(status, refused.value)) << Message(status);
      EXPECT_TRUE(Mentions(status, id)) << Message(status);
    }
  }
  EXPECT_EQ(h.machine().GetQueue(TestQueue("existing"))->config, before.config);
  EXPECT_FALSE(h.machine().GetQueue(TestQueue("new")).ok());
}

TEST(MachineQueues, SettingsAtTheirBoundsAreAccepted) {
  MachineHarness h;
  EXPECT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 500,
                                  .max_burst_size = 500,
                                  .max_concurrent_dispatches = 5000,
                                  .max_attempts = -1,
                                  .min_backoff = absl::Seconds(5),
                                  .max_backoff = absl::Seconds(5),
                                  .max_doublings = 0,
                                  .log_sampling_ratio = 1,
                                  .task_ttl = absl::Hours(24 * 10),
                                  .tombstone_ttl = absl::Hours(24 * 9)})
                  .ok());
}

TEST(MachineQueues, TheOperatorsLimitsReplaceTheServices) {
  MachineHarness h({.dispatches_per_second_max = 2000, .concurrent_dispatches_max = 10});
  const auto queue = h.CreateQueue("q", {.max_dispatches_per_second = 2000});
  ASSERT_TRUE(queue.ok()) << Message(queue.status());
  EXPECT_EQ(queue->config.rate.max_concurrent_dispatches, 10) << "the default is lowered";
  EXPECT_EQ(queue->config.rate.max_burst_size, 400);
  EXPECT_FALSE(h.UpdateQueue("q", {.max_concurrent_dispatches = 11}).ok());
}

TEST(MachineQueues, TheOperatorsDefaultsFillWhatAQueueLeavesOpen) {
  MachineHarness h(
      {.tombstone_ttl_default = absl::Hours(24), .derived_burst_span = absl::Seconds(1)});
  const auto queue = h.CreateQueue("q");
  ASSERT_TRUE(queue.ok()) << Message(queue.status());
  EXPECT_EQ(queue->config.tombstone_ttl, absl::Hours(24));
  EXPECT_EQ(queue->config.rate.max_burst_size, 500);
  ASSERT_EQ(h.UpdateQueue("q", {.tombstone_ttl = absl::Hours(2)})->config.tombstone_ttl,
            absl::Hours(2));
  EXPECT_EQ(h.UpdateQueue("q", {.tombstone_ttl = absl::ZeroDuration()})->config.tombstone_ttl,
            absl::Hours(24));
}

TEST(MachineQueues, APolicyChangesUnderItsEtagAlone) {
  MachineHarness h;
  const QueueName name = h.CreateQueue("q")->name;
  const auto get = [&] { return h.machine().GetQueue(name).value(); };
  const std::string first = PolicyEtag(get());
  ASSERT_TRUE(h.machine().SetAccessPolicy(name, "one", first).ok());
  EXPECT_NE(PolicyEtag(get()), first);
  EXPECT_TRUE(absl::IsAborted(h.machine().SetAccessPolicy(name, "two", first).status()));
  EXPECT_EQ(get().policy, (AccessPolicy{"one", 1}));
  h.Restart();
  EXPECT_EQ(get().policy, (AccessPolicy{"one", 1}));
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  ASSERT_TRUE(h.CreateQueue("q").ok());
  EXPECT_EQ(get().policy, AccessPolicy{});
  EXPECT_NE(PolicyEtag(get()), first);
}

TEST(MachineQueues, AnUpdateChangesOnlyWhatItNames) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_attempts = 7, .task_ttl = absl::Hours(24 * 20)}).ok());
  const auto queue = h.UpdateQueue("q", {.max_dispatches_per_second = 10});
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->config.retry.max_attempts, 7);
  EXPECT_EQ(queue->config.task_ttl, absl::Hours(24 * 20));
  EXPECT_EQ(queue->config.rate.max_concurrent_dispatches, 1000);
}

TEST(MachineQueues, ListsOneLocationInNameOrderAndGoesOnBehindAName) {
  MachineHarness h;
  for (const char* id : {"z", "a", "m"}) ASSERT_TRUE(h.CreateQueue(id).ok());
  const QueueName elsewhere{LocationName{"p", "other"}, "b"};
  ASSERT_TRUE(h.machine().CreateQueue(elsewhere, {}, h.now()).ok());
  const auto ids = [&h](std::string_view after, std::size_t count) {
    std::string all;
    for (const Queue& q : h.machine().ListQueues(LocationName{"p", "l"}, after, count)) {
      all += q.name.queue_id;
    }
    return all;
  };
  EXPECT_EQ(ids("", 10), "amz");
  EXPECT_EQ(ids("", 2), "am");
  EXPECT_EQ(ids("m", 2), "z");
  EXPECT_EQ(ids("z", 2), "");
  EXPECT_EQ(h.machine().QueueNames().size(), 4u);
}

TEST(MachineQueues, CommandsOnAMissingQueueSayNotFound) {
  MachineHarness h;
  for (const Status& status :
       {h.machine().GetQueue(TestQueue("q")).status(), h.PauseQueue("q").status(),
        h.ResumeQueue("q").status(), h.PurgeQueue("q").status(), h.DeleteQueue("q"),
        h.CreateTask("q").status(), h.machine().BeginListing(TestQueue("q"), h.now()).status(),
        h.machine().Stats(TestQueue("q"), h.now()).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(Mentions(status, "queues/q")) << Message(status);
  }
}

TEST(MachineQueues, NoMoreThanTheLimitExist) {
  MachineHarness h({.queues_max = 2});
  ASSERT_TRUE(h.CreateQueue("a").ok());
  ASSERT_TRUE(h.CreateQueue("b").ok());
  const Status refused = h.CreateQueue("c").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Mentions(refused, "limit is 2"));
  ASSERT_TRUE(h.DeleteQueue("a").ok());
  EXPECT_TRUE(h.CreateQueue("c").ok());
}

TEST(MachineQueues, ADeletedQueueIsGoneWithItsTasks) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(h.CreateTask("q", {.schedule_time = h.now() + absl::Seconds(1)}).ok());
  }
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  h.RunFor(absl::Hours(1));
  EXPECT_TRUE(h.open().empty());
  EXPECT_TRUE(h.ledger().queues().empty());
  EXPECT_EQ(h.DeleteQueue("q").code(), absl::StatusCode::kNotFound);
}

TEST(MachineQueues, WithoutAReservationANameComesBackEmptyAtOnce) {
  MachineHarness h;
  const Incarnation first = h.CreateQueue("q")->incarnation;
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  const auto again = h.CreateQueue("q");
  ASSERT_TRUE(again.ok());
  EXPECT_GT(again->incarnation, first);
  EXPECT_EQ(h.machine().Stats(TestQueue("q"), h.now())->task_count, 0u);
  EXPECT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok()) << "names belong to the incarnation";
}

TEST(MachineQueues, AReservedNameIsRefusedUntilItsTimeAlsoOverARestart) {
  MachineHarness h({.queue_name_reservation = absl::Hours(24 * 7)});
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  EXPECT_EQ(h.CreateQueue("q").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(h.UpdateQueue("q", {}).status().code(), absl::StatusCode::kFailedPrecondition);
  h.Restart();
  h.RunUntil(TestEpoch() + absl::Hours(24 * 7) - absl::Microseconds(1));
  EXPECT_EQ(h.CreateQueue("q").status().code(), absl::StatusCode::kFailedPrecondition);
  h.RunFor(absl::Microseconds(1));
  EXPECT_TRUE(h.ledger().reservations().empty()) << "swept when over";
  EXPECT_TRUE(h.CreateQueue("q").ok());
}

TEST(MachineQueues, AReservationThatIsOverDoesNotWaitForItsSweep) {
  MachineHarness h({.queue_name_reservation = absl::Hours(1)});
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.DeleteQueue("q").ok());
  h.SkipTo(h.now() + absl::Hours(1));
  EXPECT_TRUE(h.CreateQueue("q").ok());
  EXPECT_TRUE(h.ledger().reservations().empty());
}

TEST(MachineQueues, PauseAndResumeMayBeRepeated) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  EXPECT_EQ(h.PauseQueue("q")->state, QueueState::kPaused);
  EXPECT_EQ(h.PauseQueue("q")->state, QueueState::kPaused);
  EXPECT_EQ(h.ResumeQueue("q")->state, QueueState::kRunning);
  EXPECT_EQ(h.ResumeQueue("q")->state, QueueState::kRunning);
}

}  // namespace
}  // namespace sluice::core
