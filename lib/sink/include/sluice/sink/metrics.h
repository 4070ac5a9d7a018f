// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counters and gauges under exact dotted names (docs/reference lists them), and the
// registry a host samples them from. Counters never decrease and are never removed:
// who asks for a name again continues its total.
//
// Threading: everything from any thread. A gauge's function runs on the sampling thread.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace sluice::sink {

class Counter {
 public:
  void Add(std::int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

class MetricGroup {
 public:
  /// Must own or outlive what it reads: a gauge stays when its writer is gone.
  using Gauge = absl::AnyInvocable<std::int64_t()>;

  virtual ~MetricGroup() = default;
  /// The counter of that name, made on first use; valid as long as the registry.
  [[nodiscard]] virtual Counter& GetCounter(std::string_view name) = 0;
  /// Replaces an earlier gauge of that name.
  virtual void SetGauge(std::string_view name, Gauge gauge) = 0;
  /// The group whose names are prefixed by `name` and a dot.
  [[nodiscard]] virtual std::shared_ptr<MetricGroup> Group(std::string_view name) = 0;
};

/// Keeps the metrics in memory, by full name. Groups must not outlive it.
class MetricRegistry : public MetricGroup {
 public:
  [[nodiscard]] Counter& GetCounter(std::string_view name) override;
  void SetGauge(std::string_view name, Gauge gauge) override;
  [[nodiscard]] std::shared_ptr<MetricGroup> Group(std::string_view name) override;

  /// The value of a counter or gauge; nothing when no such name is registered.
  [[nodiscard]] std::optional<std::int64_t> Sample(std::string_view name);
  /// All of them, sorted by name.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> SampleAll();

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Counter>, std::less<>> counters_;
  std::map<std::string, Gauge, std::less<>> gauges_;
};

}  // namespace sluice::sink
