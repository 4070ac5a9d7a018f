// SPDX-License-Identifier: Apache-2.0
#include "dispatch/metrics.h"

#include <gtest/gtest.h>

namespace sluice::dispatch {
namespace {

using Kind = core::AttemptOutcome::Kind;

const DispatchMetrics::Latency& LatencyOf(const DispatchMetrics& metrics, Kind kind) {
  return metrics.latency[static_cast<std::size_t>(kind)];
}

TEST(DispatchCounters, ABoundBelongsToItsBucket) {
  DispatchCounters counters;
  counters.Count({.kind = Kind::kTimedOut}, absl::Microseconds(1'000));
  counters.Count({.kind = Kind::kTimedOut}, absl::Microseconds(1'001));
  counters.Count({.kind = Kind::kTimedOut}, absl::Hours(1));
  DispatchMetrics metrics;
  counters.Read(&metrics);
  const DispatchMetrics::Latency& latency = LatencyOf(metrics, Kind::kTimedOut);
  EXPECT_EQ(latency.count, 3u);
  EXPECT_EQ(latency.buckets[0], 1u);
  EXPECT_EQ(latency.buckets[1], 1u);
  EXPECT_EQ(latency.buckets.back(), 1u);
  EXPECT_EQ(latency.sum_us, 2'001u + 3'600'000'000u);
  EXPECT_EQ(LatencyOf(metrics, Kind::kResponse).count, 0u);
}

TEST(DispatchCounters, ResponsesCountByFirstDigit) {
  DispatchCounters counters;
  for (const int status : {200, 204, 302, 404, 503, 599, 999}) {
    counters.Count({.kind = Kind::kResponse, .http_status = status}, absl::ZeroDuration());
  }
  counters.Count({.kind = Kind::kConnectionFailed}, absl::ZeroDuration());
  DispatchMetrics metrics;
  counters.Read(&metrics);
  const std::array<std::uint64_t, 6> expected = {1, 0, 2, 1, 1, 2};
  EXPECT_EQ(metrics.responses, expected);
  EXPECT_EQ(LatencyOf(metrics, Kind::kResponse).count, 7u);
  EXPECT_EQ(LatencyOf(metrics, Kind::kConnectionFailed).count, 1u);
}

}  // namespace
}  // namespace sluice::dispatch
