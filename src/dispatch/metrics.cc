// SPDX-License-Identifier: Apache-2.0
#include "dispatch/metrics.h"

#include <algorithm>

namespace sluice::dispatch {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void DispatchCounters::Count(const core::AttemptOutcome& outcome, Duration latency) {
  const std::int64_t us = std::max<std::int64_t>(ToMicros(latency), 0);
  const auto* const bucket = std::lower_bound(kLatencyBoundsUs.begin(), kLatencyBoundsUs.end(), us);
  Latency& figures = latency_[static_cast<std::size_t>(outcome.kind)];
  figures.buckets[static_cast<std::size_t>(bucket - kLatencyBoundsUs.begin())].fetch_add(1,
                                                                                         kRelaxed);
  figures.sum_us.fetch_add(static_cast<std::uint64_t>(us), kRelaxed);
  figures.count.fetch_add(1, kRelaxed);
  if (outcome.kind != core::AttemptOutcome::Kind::kResponse) return;
  const std::int32_t first_digit = outcome.http_status / 100;
  const bool is_class = first_digit >= 1 && first_digit <= 5;
  responses_[is_class ? static_cast<std::size_t>(first_digit) : 0].fetch_add(1, kRelaxed);
}

void DispatchCounters::Read(DispatchMetrics* metrics) const {
  for (std::size_t i = 0; i < responses_.size(); ++i) {
    metrics->responses[i] = responses_[i].load(kRelaxed);
  }
  for (std::size_t kind = 0; kind < kOutcomeKinds; ++kind) {
    const Latency& from = latency_[kind];
    DispatchMetrics::Latency& to = metrics->latency[kind];
    to.count = from.count.load(kRelaxed);
    to.sum_us = from.sum_us.load(kRelaxed);
    for (std::size_t i = 0; i < from.buckets.size(); ++i) {
      to.buckets[i] = from.buckets[i].load(kRelaxed);
    }
  }
}

}  // namespace sluice::dispatch
