// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts calls and how long they took, by method. On the path of every call, so
// it takes no lock and allocates nothing.
//
// Threading: any thread. Each figure is exact by itself.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "front/call_gate.h"

namespace sluice::admin {

/// Upper bounds in microseconds; one more bucket has none.
inline constexpr std::array<std::int64_t, 14> kRpcBoundsUs = {
    100,    250,    500,     1'000,   2'500,     5'000,     10'000,
    25'000, 50'000, 100'000, 250'000, 1'000'000, 5'000'000, 30'000'000};
inline constexpr std::size_t kStatusCodes = 17;

class RpcMetrics final : public front::CallObserver {
 public:
  struct Snapshot {
    front::Method method;
    std::array<std::uint64_t, kStatusCodes> by_code = {};
    std::array<std::uint64_t, kRpcBoundsUs.size() + 1> buckets = {};  // not cumulative
    std::uint64_t sum_us = 0;
  };

  /// The methods must live as long as this; calls of others are counted as "other".
  explicit RpcMetrics(std::initializer_list<std::span<const front::Method>> services);
  RpcMetrics(const RpcMetrics&) = delete;
  RpcMetrics& operator=(const RpcMetrics&) = delete;

  std::uint64_t Started(const front::Method& method) override;
  void Finished(const front::Method& method, std::uint64_t started, absl::StatusCode code) override;

  /// Methods that were called at least once.
  [[nodiscard]] std::vector<Snapshot> Read() const;
  [[nodiscard]] std::int64_t open_count() const { return open_.load(std::memory_order_relaxed); }

 private:
  struct Figures {
    front::Method method;
    std::array<std::atomic<std::uint64_t>, kStatusCodes> by_code = {};
    std::array<std::atomic<std::uint64_t>, kRpcBoundsUs.size() + 1> buckets = {};
    std::atomic<std::uint64_t> sum_us = 0;
  };

  std::vector<std::unique_ptr<Figures>> figures_;                  // the last one is "other"
  absl::flat_hash_map<const front::Method*, Figures*> by_method_;  // constant once built
  std::atomic<std::int64_t> open_ = 0;
};

}  // namespace sluice::admin
