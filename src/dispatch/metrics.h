// SPDX-License-Identifier: Apache-2.0
#pragma once

// Figures of the dispatcher since the process started. Written by the
// dispatcher's thread, read by any; each figure is exact by itself.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "core/tasks/machine.h"

namespace sluice::dispatch {

/// Upper bounds of the latency buckets, in microseconds; one more bucket has none.
inline constexpr std::array<std::int64_t, 16> kLatencyBoundsUs = {
    1'000,   2'500,     5'000,     10'000,    25'000,     50'000,     100'000,    250'000,
    500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 30'000'000, 60'000'000, 600'000'000};

inline constexpr std::size_t kOutcomeKinds = 3;

/// A snapshot.
struct DispatchMetrics {
  struct Latency {
    std::uint64_t count = 0;
    std::uint64_t sum_us = 0;
    /// Attempts within each bound and not within the one before; not cumulative.
    std::array<std::uint64_t, kLatencyBoundsUs.size() + 1> buckets = {};
  };
  std::uint64_t attempts_started = 0;
  std::uint64_t attempts_open = 0;
  std::uint64_t attempts_refused = 0;    // more open than the client may have
  std::uint64_t attempts_abandoned = 0;  // by Stop, without an outcome
  std::uint64_t connections_opened = 0;
  /// By first digit of the status; index zero counts what is none.
  std::array<std::uint64_t, 6> responses = {};
  /// By core::AttemptOutcome::Kind.
  std::array<Latency, kOutcomeKinds> latency = {};
};

class DispatchCounters {
 public:
  void Count(const core::AttemptOutcome& outcome, Duration latency);
  /// Fills in `responses` and `latency`.
  void Read(DispatchMetrics* metrics) const;

 private:
  struct Latency {
    std::atomic<std::uint64_t> count = 0;
    std::atomic<std::uint64_t> sum_us = 0;
    std::array<std::atomic<std::uint64_t>, kLatencyBoundsUs.size() + 1> buckets = {};
  };
  std::array<std::atomic<std::uint64_t>, 6> responses_ = {};
  std::array<Latency, kOutcomeKinds> latency_;
};

}  // namespace sluice::dispatch
