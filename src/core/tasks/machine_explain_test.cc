// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "core/tasks/testing/machine_harness.h"

// "Why was this not sent?", one reason after the other.

namespace sluice::core {
namespace {

using testing::MachineHarness;
using Reason = Wait::Reason;

std::vector<Reason> Reasons(MachineHarness& h, std::string_view task_id) {
  std::vector<Reason> reasons;
  const auto explanation = h.ExplainTask("q", task_id);
  for (const Wait& wait : explanation->waits) reasons.push_back(wait.reason);
  return reasons;
}

std::optional<Time> Until(MachineHarness& h, std::string_view task_id, Reason reason) {
  const auto explanation = h.ExplainTask("q", task_id);
  for (const Wait& wait : explanation->waits) {
    if (wait.reason == reason) return wait.until;
  }
  return std::nullopt;
}

using List = std::vector<Reason>;

TEST(MachineExplain, AFutureTaskWaitsForItsTime) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  const Time due = h.now() + absl::Hours(1);
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t", .schedule_time = due}).ok());
  EXPECT_EQ(Reasons(h, "t"), List{Reason::kScheduled});
  EXPECT_EQ(Until(h, "t", Reason::kScheduled), due);
}

TEST(MachineExplain, AFailedTaskWaitsForItsBackoffAndAPausedQueueToo) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.min_backoff = absl::Seconds(60)}).ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.Settle();
  EXPECT_EQ(Reasons(h, "t"), List{Reason::kInFlight});
  h.RespondFirst(500);
  EXPECT_EQ(Reasons(h, "t"), List{Reason::kBackoff});
  EXPECT_EQ(Until(h, "t", Reason::kBackoff), h.now() + absl::Seconds(60));
  ASSERT_TRUE(h.PauseQueue("q").ok());
  EXPECT_EQ(Reasons(h, "t"), (List{Reason::kBackoff, Reason::kQueuePaused}));
}

TEST(MachineExplain, ADueTaskWaitsForATokenBehindAnother) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 1, .max_burst_size = 1}).ok());
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(h.CreateTask("q", {.task_id = id}).ok());
  h.Settle();
  EXPECT_EQ(Reasons(h, "b"), List{Reason::kRate});
  EXPECT_EQ(Until(h, "b", Reason::kRate), h.now() + absl::Seconds(1));
  EXPECT_EQ(Reasons(h, "c"), (List{Reason::kRate, Reason::kBehind}));
}

TEST(MachineExplain, ADueTaskWaitsForAPlace) {
  MachineHarness h({.in_flight_max = 1});
  ASSERT_TRUE(h.CreateQueue("q", {.max_concurrent_dispatches = 1}).ok());
  for (const char* id : {"a", "b"}) ASSERT_TRUE(h.CreateTask("q", {.task_id = id}).ok());
  h.Settle();
  EXPECT_EQ(Reasons(h, "b"), (List{Reason::kConcurrency, Reason::kServerCapacity}));
}

TEST(MachineExplain, ADueTaskWaitsForItsBody) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  h.ledger().MakeReadsCold();
  h.ledger().Cool();
  h.Advance();
  EXPECT_EQ(Reasons(h, "t"), List{Reason::kLoading});
}

TEST(MachineExplain, ATaskBeyondTheWindowIsBehindAndNotLoadedYet) {
  MachineHarness h({.window_rows_max = 2, .window_rows_low = 1});
  ASSERT_TRUE(h.CreateQueue("q", {.max_dispatches_per_second = 1, .max_burst_size = 1}).ok());
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(h.CreateTask("q", {.task_id = id}).ok());
  EXPECT_EQ(Reasons(h, "d"), (List{Reason::kBehind, Reason::kLoading}));
}

TEST(MachineExplain, NothingHoldsBackATaskThatIsAboutToBeSent) {
  MachineHarness h;
  ASSERT_TRUE(h.CreateQueue("q").ok());
  ASSERT_TRUE(h.CreateTask("q", {.task_id = "t"}).ok());
  EXPECT_EQ(Reasons(h, "t"), List{});
}

}  // namespace
}  // namespace sluice::core
