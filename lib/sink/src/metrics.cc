// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/metrics.h"

#include <algorithm>

namespace sluice::sink {
namespace {

/// Names under a prefix of the registry.
class PrefixedGroup : public MetricGroup {
 public:
  PrefixedGroup(MetricRegistry& registry, std::string prefix)
      : registry_(registry), prefix_(std::move(prefix)) {}

  [[nodiscard]] Counter& GetCounter(std::string_view name) override {
    return registry_.GetCounter(prefix_ + std::string(name));
  }
  void SetGauge(std::string_view name, Gauge gauge) override {
    registry_.SetGauge(prefix_ + std::string(name), std::move(gauge));
  }
  [[nodiscard]] std::shared_ptr<MetricGroup> Group(std::string_view name) override {
    return std::make_shared<PrefixedGroup>(registry_, prefix_ + std::string(name) + ".");
  }

 private:
  MetricRegistry& registry_;
  std::string prefix_;
};

}  // namespace

Counter& MetricRegistry::GetCounter(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto found = counters_.find(name);
  if (found == counters_.end()) {
    found = counters_.emplace(std::string(name), std::make_unique<Counter>()).first;
  }
  return *found->second;
}

void MetricRegistry::SetGauge(std::string_view name, Gauge gauge) {
  const std::lock_guard lock(mutex_);
  gauges_.insert_or_assign(std::string(name), std::move(gauge));
}

std::shared_ptr<MetricGroup> MetricRegistry::Group(std::string_view name) {
  return std::make_shared<PrefixedGroup>(*this, std::string(name) + ".");
}

std::optional<std::int64_t> MetricRegistry::Sample(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto counter = counters_.find(name); counter != counters_.end()) {
    return counter->second->value();
  }
  if (const auto gauge = gauges_.find(name); gauge != gauges_.end()) return gauge->second();
  return std::nullopt;
}

std::vector<std::pair<std::string, std::int64_t>> MetricRegistry::SampleAll() {
  std::vector<std::pair<std::string, std::int64_t>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, counter] : counters_) all.emplace_back(name, counter->value());
    for (auto& [name, gauge] : gauges_) all.emplace_back(name, gauge());
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace sluice::sink
