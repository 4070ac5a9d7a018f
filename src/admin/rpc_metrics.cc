// SPDX-License-Identifier: Apache-2.0
#include "admin/rpc_metrics.h"

#include <algorithm>

namespace sluice::admin {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr front::Method kOther{"other", "other"};

std::uint64_t SteadyNanos() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

RpcMetrics::RpcMetrics(std::initializer_list<std::span<const front::Method>> services) {
  for (const std::span<const front::Method> methods : services) {
    for (const front::Method& method : methods) {
      figures_.push_back(std::make_unique<Figures>());
      figures_.back()->method = method;
      by_method_.emplace(&method, figures_.back().get());
    }
  }
  figures_.push_back(std::make_unique<Figures>());
  figures_.back()->method = kOther;
}

std::uint64_t RpcMetrics::Started(const front::Method& /*method*/) {
  open_.fetch_add(1, kRelaxed);
  return SteadyNanos();
}

void RpcMetrics::Finished(const front::Method& method, std::uint64_t started,
                          absl::StatusCode code) {
  open_.fetch_sub(1, kRelaxed);
  const std::uint64_t micros = (SteadyNanos() - started) / 1000;
  const auto found = by_method_.find(&method);
  Figures& figures = found == by_method_.end() ? *figures_.back() : *found->second;
  const auto code_index = static_cast<std::size_t>(code);
  const auto unknown = static_cast<std::size_t>(absl::StatusCode::kUnknown);
  figures.by_code[code_index < kStatusCodes ? code_index : unknown].fetch_add(1, kRelaxed);
  const auto bucket =
      std::lower_bound(kRpcBoundsUs.begin(), kRpcBoundsUs.end(), static_cast<std::int64_t>(micros));
  figures.buckets[static_cast<std::size_t>(bucket - kRpcBoundsUs.begin())].fetch_add(1, kRelaxed);
  figures.sum_us.fetch_add(micros, kRelaxed);
}

std::vector<RpcMetrics::Snapshot> RpcMetrics::Read() const {
  std::vector<Snapshot> all;
  for (const auto& figures : figures_) {
    Snapshot snapshot;
    snapshot.method = figures->method;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kStatusCodes; ++i) {
      snapshot.by_code[i] = figures->by_code[i].load(kRelaxed);
      count += snapshot.by_code[i];
    }
    for (std::size_t i = 0; i < snapshot.buckets.size(); ++i) {
      snapshot.buckets[i] = figures->buckets[i].load(kRelaxed);
    }
    snapshot.sum_us = figures->sum_us.load(kRelaxed);
    if (count > 0) all.push_back(snapshot);
  }
  return all;
}

}  // namespace sluice::admin
