// SPDX-License-Identifier: Apache-2.0
#include "core/messages/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/messages/testing/delivery_world.h"

// Leases and redelivery (spec pubsub 3.1), order (3.5), backoff (3.7), exactly-once (3.9)
// and dead letters (4), rule by rule. Histories are in subscription_model_test.cc.

namespace sluice::core {
namespace {

using testing::DeliveryWorld;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kLease = absl::Seconds(10);

class Subscription : public ::testing::Test {
 protected:
  void Open(DeliveryConfig config) { world_.emplace(std::move(config)); }
  DeliveryWorld& world() { return *world_; }
  SubscriptionMachine& machine() { return world_->machine(); }
  std::vector<Delivery> Pull(ReceiverId receiver = 1, std::size_t max = 100) {
    return machine().Pull(max, kLease, receiver, now_);
  }
  AckOutcome Ack(const Delivery& delivery) {
    return machine().Acknowledge(std::vector{delivery.token}, now_)[0];
  }
  bool Nack(const Delivery& delivery) {
    return machine().ModifyDeadline(delivery.token, absl::ZeroDuration(), now_);
  }
  void RunFor(Duration duration) {
    now_ += duration;
    machine().Advance(now_);
  }
  static std::vector<MessageSequence> Sequences(const std::vector<Delivery>& deliveries) {
    std::vector<MessageSequence> sequences;
    sequences.reserve(deliveries.size());
    for (const Delivery& each : deliveries) sequences.push_back(each.token.sequence);
    return sequences;
  }

  Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::optional<DeliveryWorld> world_;
};

TEST_F(Subscription, ALeasedMessageComesAgainWhenItsLeaseEnds) {
  Open({});
  world().Publish();
  const auto first = Pull();
  ASSERT_THAT(Sequences(first), ElementsAre(1));
  EXPECT_EQ(machine().NextDeadline(now_), now_ + kLease);
  RunFor(kLease - absl::Microseconds(1));
  EXPECT_THAT(Pull(), IsEmpty());
  RunFor(absl::Microseconds(1));
  const auto second = Pull();
  ASSERT_THAT(Sequences(second), ElementsAre(1));
  EXPECT_EQ(second[0].attempt, 2);
  EXPECT_EQ(Ack(first[0]), AckOutcome::kStale);
  EXPECT_EQ(Ack(second[0]), AckOutcome::kDone);
  EXPECT_TRUE(world().IsRecordedDone(1));
  RunFor(kLease);
  EXPECT_THAT(Pull(), IsEmpty());
  EXPECT_EQ(machine().NextDeadline(now_), absl::InfiniteFuture());
}

TEST_F(Subscription, ALeaseThatIsDueIsOverBeforeItIsSwept) {
  Open({});
  world().Publish();
  const auto delivery = Pull();
  now_ += kLease;
  EXPECT_EQ(Ack(delivery[0]), AckOutcome::kStale);
  EXPECT_FALSE(machine().ModifyDeadline(delivery[0].token, kLease, now_));
}

TEST_F(Subscription, AnExtensionMovesTheDeadlineBothWays) {
  Open({});
  world().Publish();
  const auto delivery = Pull();
  EXPECT_TRUE(machine().ModifyDeadline(delivery[0].token, absl::Seconds(60), now_));
  RunFor(absl::Seconds(59));
  EXPECT_THAT(Pull(), IsEmpty());
  EXPECT_TRUE(machine().ModifyDeadline(delivery[0].token, absl::Milliseconds(10), now_));
  RunFor(absl::Milliseconds(10));
  EXPECT_THAT(Sequences(Pull()), ElementsAre(1));
}

TEST_F(Subscription, AModackAfterTheNackRevivesNothing) {
  Open({});
  world().Publish();
  const auto delivery = Pull();
  EXPECT_TRUE(Nack(delivery[0]));
  EXPECT_FALSE(machine().ModifyDeadline(delivery[0].token, absl::Seconds(60), now_));
  EXPECT_THAT(Sequences(Pull()), ElementsAre(1));
}

TEST_F(Subscription, TheRetryPolicyDelaysNackAndExpiry) {
  Open({.retry = MessageRetryPolicy{absl::Milliseconds(10), absl::Milliseconds(30)}});
  world().Publish();
  for (const int wait : {10, 20, 30, 30}) {
    const auto delivery = Pull();
    ASSERT_EQ(delivery.size(), 1u) << wait;
    if (wait == 20) {
      RunFor(kLease);
    } else {
      EXPECT_TRUE(Nack(delivery[0]));
    }
    EXPECT_EQ(machine().NextDeadline(now_), now_ + absl::Milliseconds(wait));
    RunFor(absl::Milliseconds(wait) - absl::Microseconds(1));
    EXPECT_THAT(Pull(), IsEmpty()) << wait;
    RunFor(absl::Microseconds(1));
  }
}

TEST_F(Subscription, AMinimumOfZeroRetriesAtOnceAndThenDoublesFrom100Milliseconds) {
  const MessageRetryPolicy policy{absl::ZeroDuration(), absl::Milliseconds(350)};
  EXPECT_EQ(RedeliveryDelay(policy, 1), absl::ZeroDuration());
  EXPECT_EQ(RedeliveryDelay(policy, 2), absl::Milliseconds(100));
  EXPECT_EQ(RedeliveryDelay(policy, 3), absl::Milliseconds(200));
  EXPECT_EQ(RedeliveryDelay(policy, 4), absl::Milliseconds(350));
  EXPECT_EQ(RedeliveryDelay(policy, 2'000'000'000), absl::Milliseconds(350));
  EXPECT_EQ(RedeliveryDelay(std::nullopt, 7), absl::ZeroDuration());
}

TEST_F(Subscription, TheLastFailedAttemptIsADeadLetterWithoutDelay) {
  Open({.retry = MessageRetryPolicy{}, .delivery_attempts_max = 2});
  world().Publish();
  EXPECT_TRUE(Nack(Pull()[0]));
  RunFor(absl::Seconds(10));
  const auto last = Pull();
  EXPECT_EQ(last[0].attempt, 2);
  EXPECT_TRUE(Nack(last[0]));
  EXPECT_THAT(world().dead_letters(), ElementsAre(std::pair(MessageSequence{1}, 2)));
  EXPECT_TRUE(world().IsRecordedDone(1));
  EXPECT_EQ(machine().held_count(), 0u);
}

TEST_F(Subscription, AKeyGoesToOneReceiverUntilItIsAcknowledged) {
  Open({.is_ordered = true});
  for (const char* key : {"a", "a", "b", "a"}) world().Publish(key);
  const auto first = Pull(1, 1);
  ASSERT_THAT(Sequences(first), ElementsAre(1));
  const auto other = Pull(2);
  EXPECT_THAT(Sequences(other), ElementsAre(3));
  EXPECT_THAT(Sequences(Pull(1, 1)), ElementsAre(2));  // the same receiver gets more of it
  EXPECT_EQ(Ack(first[0]), AckOutcome::kDone);
  EXPECT_THAT(Pull(2), IsEmpty());  // 2 is still out
  EXPECT_THAT(Sequences(Pull(1)), ElementsAre(4));
}

TEST_F(Subscription, AnExpiredHeadBringsLaterOnesOfItsKeyAgainEvenIfAcknowledged) {
  Open({.is_ordered = true});
  for (int i = 0; i < 3; ++i) world().Publish("k");
  const auto first = Pull();
  EXPECT_EQ(Ack(first[1]), AckOutcome::kDone);
  EXPECT_FALSE(world().IsRecordedDone(2));
  EXPECT_TRUE(Nack(first[0]));
  const auto again = Pull(2);
  EXPECT_THAT(Sequences(again), ElementsAre(1, 2, 3));
  EXPECT_EQ(again[0].attempt, 2);
  EXPECT_EQ(again[1].attempt, 1);  // did not fail itself
  EXPECT_EQ(Ack(first[2]), AckOutcome::kStale);
  EXPECT_EQ(Ack(again[2]), AckOutcome::kDone);
  EXPECT_EQ(Ack(again[1]), AckOutcome::kDone);
  EXPECT_FALSE(world().IsRecordedDone(3));
  EXPECT_EQ(Ack(again[0]), AckOutcome::kDone);
  EXPECT_TRUE(world().IsRecordedDone(3));
}

TEST_F(Subscription, ExactlyOnceRefusesAnAcknowledgementOutOfOrder) {
  Open({.is_ordered = true, .is_exactly_once = true});
  world().Publish("k");
  world().Publish("k");
  const auto both = Pull();
  EXPECT_EQ(Ack(both[1]), AckOutcome::kUnordered);
  const auto together = machine().Acknowledge(std::vector{both[1].token, both[0].token}, now_);
  EXPECT_THAT(together, ElementsAre(AckOutcome::kDone, AckOutcome::kDone));
  EXPECT_TRUE(world().IsRecordedDone(2));
}

TEST_F(Subscription, AnExactlyOnceLeaseHoldsThroughARestart) {
  Open({.is_exactly_once = true});
  world().Publish();
  const auto delivery = Pull();
  EXPECT_TRUE(machine().ModifyDeadline(delivery[0].token, absl::Seconds(60), now_));
  world().Restart();
  RunFor(absl::Seconds(59));
  EXPECT_THAT(Pull(), IsEmpty());
  EXPECT_EQ(Ack(delivery[0]), AckOutcome::kDone);
  world().Restart();
  RunFor(absl::Seconds(60));
  EXPECT_THAT(Pull(), IsEmpty());
  EXPECT_EQ(Ack(delivery[0]), AckOutcome::kStale);
}

TEST_F(Subscription, WithoutExactlyOnceARestartEndsLeasesAndKeepsFailures) {
  Open({});
  world().Publish();
  EXPECT_TRUE(Nack(Pull()[0]));
  const auto before = Pull();
  world().Restart();
  const auto after = Pull();
  ASSERT_THAT(Sequences(after), ElementsAre(1));
  EXPECT_EQ(after[0].attempt, 2);
  EXPECT_NE(after[0].token, before[0].token);
  EXPECT_EQ(Ack(before[0]), AckOutcome::kStale);  // an id of another life
}

TEST_F(Subscription, ARestoredFailureWaitsForEarlierOnesOfItsKey) {
  Open({.is_ordered = true});
  world().Publish("k");
  world().Publish("k");
  EXPECT_TRUE(Nack(Pull()[1]));
  world().Restart();  // the lease of 1 is gone, 2 is recorded as failed
  const auto again = Pull(1, 1);
  EXPECT_THAT(Sequences(again), ElementsAre(1));
  EXPECT_THAT(Sequences(Pull(1, 1)), ElementsAre(2));
}

TEST_F(Subscription, ABacklogNobodyPullsNeedsNoMemoryAndIsNotRead) {
  Open({});
  for (int i = 0; i < 10'000; ++i) world().Publish();
  EXPECT_THAT(Sequences(Pull(1, 3)), ElementsAre(1, 2, 3));
  EXPECT_EQ(machine().held_count(), 3u);
  EXPECT_EQ(world().heads_read(), 3u);
}

TEST_F(Subscription, AConsumerThatNeverAcknowledgesGetsNoMoreThanTheLimit) {
  Open({.held_max = 5});
  for (int i = 0; i < 9; ++i) world().Publish();
  const auto held = Pull();
  EXPECT_THAT(Sequences(held), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Pull(), IsEmpty());
  EXPECT_EQ(Ack(held[2]), AckOutcome::kDone);
  EXPECT_THAT(Sequences(Pull()), ElementsAre(6));
}

TEST_F(Subscription, AColdHeadStopsThePullAndUnwantedOnesAreDone) {
  Open({});
  world().Publish();
  world().Publish("", false);
  world().Publish();
  world().SetColdFrom(3);
  EXPECT_THAT(Sequences(Pull()), ElementsAre(1));
  world().SetColdFrom(std::nullopt);
  EXPECT_THAT(Sequences(Pull()), ElementsAre(3));
  EXPECT_TRUE(machine().done().Contains(2));
}

TEST_F(Subscription, DroppedMessagesAreDoneWhoeverHoldsThem) {
  Open({.is_ordered = true});
  for (const char* key : {"a", "a", "", "a"}) world().Publish(key);
  const auto held = Pull(1, 3);
  EXPECT_EQ(Ack(held[1]), AckOutcome::kDone);
  machine().DropThrough(3);
  EXPECT_EQ(machine().held_count(), 0u);
  EXPECT_EQ(Ack(held[0]), AckOutcome::kStale);
  EXPECT_TRUE(world().IsRecordedDone(3));
  EXPECT_THAT(Sequences(Pull(2)), ElementsAre(4));
  EXPECT_EQ(world().progress_count(), 0u);
}

}  // namespace
}  // namespace sluice::core
