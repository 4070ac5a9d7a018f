// SPDX-License-Identifier: Apache-2.0
#pragma once

// The text of GET /metrics, in Prometheus' exposition format, from figures that
// the parts keep anyway. Nothing is counted here.
//
// Pure functions; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admin/rpc_metrics.h"
#include "base/time.h"
#include "dispatch/metrics.h"
#include "engine/engine.h"
#include "front/net/listener.h"

namespace sluice::admin {

/// Queues with metrics of their own: each is a handful of series.
inline constexpr std::size_t kQueuesShownMax = 1000;
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

struct ProcessFigures {
  std::uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  std::uint64_t open_descriptors = 0;
  Time start_time;
};

struct MetricsInput {
  engine::EngineMetrics engine;
  std::vector<engine::NamedStats> queues;
  dispatch::DispatchMetrics dispatch;
  front::net::ListenerStats connections;
  std::vector<RpcMetrics::Snapshot> rpcs;
  std::int64_t rpcs_open = 0;
  std::uint64_t fault_calls_held = 0;
  ProcessFigures process;
  std::string version;
};

[[nodiscard]] std::string RenderMetrics(MetricsInput input);

}  // namespace sluice::admin
