// SPDX-License-Identifier: Apache-2.0
// Checklist 75-84, 92, 93.
#include "sluice/sink/options.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sluice::sink {
namespace {

using namespace std::chrono_literals;
using Writer = WriterOptions::Builder;
using Staged = StagedOptions::Builder;

void ExpectRefused(const Status& status, std::string_view part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find(part), std::string_view::npos) << Message(status);
}

TEST(WriterOptions, C75_DefaultsAreThoseOfAnUntouchedBuild) {
  const WriterOptions options;
  EXPECT_EQ(options, *Writer().Build());
  EXPECT_EQ(options.max_in_flight_tasks(), 1000);
  EXPECT_EQ(options.channel_pool_size(), std::nullopt);
  EXPECT_EQ(options.recovery_initial_backoff(), 100ms);
  EXPECT_EQ(options.recovery_max_backoff(), 10s);
  EXPECT_EQ(options.recovery_max_attempts(), 8);
  EXPECT_EQ(options.not_found_recovery_initial_backoff(), 500ms);
  EXPECT_EQ(options.not_found_recovery_max_backoff(), 2s);
  EXPECT_EQ(options.not_found_recovery_max_attempts(), 3);
  EXPECT_FALSE(options.per_destination_metrics());
}

TEST(WriterOptions, C76_SchedulesUseTheOptions) {
  const auto options = *Writer()
                            .set_recovery_initial_backoff(2s)
                            .set_recovery_max_attempts(4)
                            .set_not_found_recovery_initial_backoff(1s)
                            .set_not_found_recovery_max_attempts(2)
                            .Build();
  EXPECT_EQ(options.transient_schedule().Backoff(1), 2s);
  EXPECT_EQ(options.transient_schedule().max_attempts(), 4);
  EXPECT_EQ(options.not_found_schedule().Backoff(1), 1s);
  EXPECT_EQ(options.not_found_schedule().max_attempts(), 2);
}

TEST(WriterOptions, C77_ZeroCountsAreRefusedByName) {
  ExpectRefused(Writer().set_max_in_flight_tasks(0).Build().status(), "max_in_flight_tasks");
  ExpectRefused(Writer().set_channel_pool_size(0).Build().status(), "channel_pool_size");
  ExpectRefused(Writer().set_recovery_max_attempts(0).Build().status(), "recovery_max_attempts");
  ExpectRefused(Writer().set_not_found_recovery_max_attempts(0).Build().status(),
                "not_found_recovery_max_attempts");
}

TEST(WriterOptions, C78_BackoffBelowAMillisecondIsRefused) {
  ExpectRefused(Writer().set_recovery_initial_backoff(1ns).Build().status(), "1 ms");
  ExpectRefused(Writer().set_not_found_recovery_max_backoff(-1s).Build().status(),
                "not_found_recovery_max_backoff");
}

TEST(WriterOptions, C79_MaxBelowInitialIsRefusedAtBuildAndEqualIsFine) {
  ExpectRefused(
      Writer().set_recovery_max_backoff(1s).set_recovery_initial_backoff(2s).Build().status(),
      "recovery_max_backoff");
  ExpectRefused(Writer()
                    .set_not_found_recovery_initial_backoff(2s)
                    .set_not_found_recovery_max_backoff(1s)
                    .Build()
                    .status(),
                "not_found_recovery_max_backoff");
  EXPECT_TRUE(Writer().set_recovery_max_backoff(100ms).Build().ok());
}

TEST(WriterOptions, C80_EachKnobAloneMakesADifference) {
  const std::vector<WriterOptions> all = {
      *Writer().Build(),
      *Writer().set_max_in_flight_tasks(7).Build(),
      *Writer().set_channel_pool_size(2).Build(),
      *Writer().set_recovery_initial_backoff(1ms).Build(),
      *Writer().set_recovery_max_backoff(1s).Build(),
      *Writer().set_recovery_max_attempts(2).Build(),
      *Writer().set_not_found_recovery_initial_backoff(1ms).Build(),
      *Writer().set_not_found_recovery_max_backoff(1s).Build(),
      *Writer().set_not_found_recovery_max_attempts(2).Build(),
      *Writer().set_per_destination_metrics(true).Build()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      EXPECT_NE(all[i], all[j]) << i << " " << j;
      EXPECT_NE(all[i].ToString(), all[j].ToString());
    }
  }
  EXPECT_EQ(all[1].ToString().find("max_in_flight_tasks=7"), 0U);
}

TEST(StagedOptions, C81_DefaultsAndTheDeadlineTheyGive) {
  Staged builder;
  const StagedOptions options = *builder.Build();
  builder.set_max_staged_tasks(1);
  EXPECT_EQ(options, StagedOptions());
  EXPECT_EQ(options.name_retention(), 1h);
  EXPECT_EQ(options.clock_skew_allowance(), 5min);
  EXPECT_EQ(options.request_timeout(), 20s);
  EXPECT_EQ(options.max_staged_tasks(), 100'000);
  EXPECT_EQ(options.max_staged_bytes(), 67'108'864);
  EXPECT_TRUE(options.verify_queue_retention());
  EXPECT_EQ(options.expired_envelope_policy(), ExpiredEnvelopePolicy::kFail);
  EXPECT_EQ(options.window_millis(), 3'280'000);
  EXPECT_EQ(*options.DeadlineMillis(1'000), 3'281'000);
}

TEST(StagedOptions, C83_C92_ValuesOutOfRangeAreRefusedByName) {
  ExpectRefused(Staged().set_name_retention(0ns).Build().status(), "292 years");
  ExpectRefused(Staged().set_request_timeout(0ns).Build().status(), "request_timeout");
  ExpectRefused(Staged().set_clock_skew_allowance(-1s).Build().status(), "clock_skew_allowance");
  ExpectRefused(Staged().set_max_staged_tasks(0).Build().status(), "max_staged_tasks");
  ExpectRefused(Staged().set_max_staged_tasks(-1).Build().status(), "max_staged_tasks");
  ExpectRefused(Staged().set_max_staged_bytes(0).Build().status(), "max_staged_bytes");
}

TEST(StagedOptions, C84_RetentionMustExceedSkewAndTimeout) {
  for (const auto retention : {std::chrono::seconds(300), std::chrono::seconds(320)}) {
    const Status status = Staged().set_name_retention(retention).Build().status();
    ExpectRefused(status, "name_retention");
    ExpectRefused(status, "clock_skew_allowance");
    ExpectRefused(status, "request_timeout");
  }
  ExpectRefused(Staged().set_clock_skew_allowance(std::chrono::nanoseconds::max()).Build().status(),
                "name_retention");
}

TEST(StagedOptions, C93_WindowIsFlooredToMilliseconds) {
  const auto options = *Staged()
                            .set_name_retention(3'000'999ns)
                            .set_clock_skew_allowance(500ns)
                            .set_request_timeout(500ns)
                            .Build();
  EXPECT_EQ(*options.DeadlineMillis(10), 12);
  EXPECT_EQ(options.DeadlineMillis(std::numeric_limits<std::int64_t>::max()).status().code(),
            absl::StatusCode::kOutOfRange);
  ExpectRefused(Staged()
                    .set_name_retention(999ns)
                    .set_clock_skew_allowance(0ns)
                    .set_request_timeout(1ns)
                    .Build()
                    .status(),
                "one millisecond");
}

TEST(OptionEnums, SpellingsParseBackAndOthersAreRefused) {
  EXPECT_EQ(*ParseDeliveryGuarantee("exactly-once"), DeliveryGuarantee::kExactlyOnce);
  EXPECT_EQ(*ParseDeliveryGuarantee("at-least-once"), DeliveryGuarantee::kAtLeastOnce);
  ExpectRefused(ParseDeliveryGuarantee("EXACTLY_ONCE").status(), "at-least-once");
  for (const std::string text : {"fail", "assume-committed", "create-anyway", "drop"}) {
    EXPECT_EQ(ToString(*ParseExpiredEnvelopePolicy(text)), text);
  }
  ExpectRefused(ParseExpiredEnvelopePolicy("none").status(), "\"none\"");
}

}  // namespace
}  // namespace sluice::sink
