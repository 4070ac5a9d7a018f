// SPDX-License-Identifier: Apache-2.0
#include "admin/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "admin/metric_table.h"
#include "front/errors.h"

namespace sluice::admin {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;

prometheus::MetricType TypeOf(MetricDescription::Type type) {
  switch (type) {
    case MetricDescription::Type::kCounter:
      return prometheus::MetricType::Counter;
    case MetricDescription::Type::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricDescription::Type::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

/// Collects values under the names of the table; any other name ends the process.
class Page {
 public:
  Page() {
    for (const MetricDescription& metric : MetricTable()) {
      index_.emplace(metric.name, families_.size());
      prometheus::MetricFamily family;
      family.name = std::string(metric.name);
      family.help = std::string(metric.help);
      family.type = TypeOf(metric.type);
      families_.push_back(std::move(family));
    }
  }

  template <class Number>
  void Set(std::string_view name, Number value, Labels labels = {}) {
    prometheus::ClientMetric& metric = Add(name, std::move(labels));
    // The serializer reads the member that the family's type names.
    metric.counter.value = static_cast<double>(value);
    metric.gauge.value = static_cast<double>(value);
  }

  void SetHistogram(std::string_view name, std::span<const std::int64_t> bounds_us,
                    std::span<const std::uint64_t> buckets, std::uint64_t sum_us, Labels labels) {
    prometheus::ClientMetric& metric = Add(name, std::move(labels));
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      cumulative += buckets[i];
      const double bound = i < bounds_us.size() ? static_cast<double>(bounds_us[i]) * 1e-6
                                                : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({cumulative, bound});
    }
    metric.histogram.sample_count = cumulative;
    metric.histogram.sample_sum = static_cast<double>(sum_us) * 1e-6;
  }

  std::string Text() {
    std::erase_if(families_, [](const auto& family) { return family.metric.empty(); });
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  prometheus::ClientMetric& Add(std::string_view name, Labels labels) {
    const auto found = index_.find(name);
    SLUICE_CHECK(found != index_.end(), name);
    prometheus::ClientMetric& metric = families_[found->second].metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string_view, std::size_t> index_;
};

void AddEngine(const engine::EngineMetrics& engine, Page* page) {
  page->Set("sluice_commands_total", engine.commands);
  page->Set("sluice_commands_refused_total", engine.commands_refused);
  page->Set("sluice_commands_cold_total", engine.commands_cold);
  page->Set("sluice_inbox_commands", engine.inbox_commands);
  page->Set("sluice_overlay_keys", engine.overlay_keys);
  page->Set("sluice_frames_total", engine.frames);
  page->Set("sluice_frame_bytes_total", engine.frame_bytes);
  page->Set("sluice_log_bytes", engine.log.bytes);
  page->Set("sluice_log_segments", engine.log.segments);
  page->Set("sluice_store_memory_bytes", engine.store.memory_bytes);
  page->Set("sluice_store_disk_bytes", engine.store.disk_bytes);
  page->Set("sluice_store_unflushed_bytes", engine.store.unflushed_bytes);
  page->Set("sluice_disk_space_low", engine.is_space_low ? 1 : 0);
  page->Set("sluice_tasks_created_total", engine.tasks_created);
  page->Set("sluice_attempts_started_total", engine.attempts_started);
  page->Set("sluice_attempts_finished_total", engine.attempts_succeeded, {{"result", "success"}});
  page->Set("sluice_attempts_finished_total", engine.attempts_failed, {{"result", "failure"}});
  page->Set("sluice_attempts_in_flight", engine.in_flight);
  // In the order of core::TaskEnd.
  constexpr std::array<const char*, 6> kEnds = {"done",    "deleted",   "purged",
                                                "expired", "exhausted", "queue_deleted"};
  static_assert(kEnds.size() == std::extent_v<decltype(engine.tasks_ended)>);
  for (std::size_t i = 0; i < kEnds.size(); ++i) {
    page->Set("sluice_tasks_ended_total", engine.tasks_ended[i], {{"end", kEnds[i]}});
  }
}

void AddDeadLetters(const core::DeadLetterTotals& totals, Page* page) {
  const auto set = [page](const char* event, std::uint64_t count) {
    page->Set("sluice_dead_letters_total", count, {{"event", event}});
  };
  set("kept", totals.kept);
  set("evicted", totals.evicted);
  set("expired", totals.expired);
  set("redriven", totals.redriven);
  set("deleted", totals.deleted);
}

void AddQueues(std::vector<engine::NamedStats>* queues, Page* page) {
  std::sort(queues->begin(), queues->end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const std::size_t shown = std::min(queues->size(), kQueuesShownMax);
  page->Set("sluice_queues", queues->size());
  page->Set("sluice_queues_not_shown", queues->size() - shown);
  for (const engine::NamedStats& queue : std::span(*queues).first(shown)) {
    const Labels labels = {{"queue", queue.name.ToString()}};
    page->Set("sluice_queue_tasks", queue.stats.task_count, labels);
    page->Set("sluice_queue_dead_letters", queue.stats.dead_letter_count, labels);
    page->Set("sluice_queue_dead_letter_bytes", queue.stats.dead_letter_bytes, labels);
    page->Set("sluice_queue_attempts_in_flight", queue.stats.in_flight, labels);
    page->Set("sluice_queue_tokens", std::floor(queue.stats.tokens), labels);
    page->Set("sluice_queue_effective_rate", queue.stats.effective_rate, labels);
    page->Set("sluice_queue_executed_last_minute", queue.stats.executed_last_minute, labels);
    page->Set("sluice_queue_running", queue.state == core::QueueState::kRunning ? 1 : 0, labels);
    if (queue.stats.next_schedule_time.has_value()) {
      page->Set("sluice_queue_next_schedule_timestamp_seconds",
                static_cast<double>(ToMicros(*queue.stats.next_schedule_time)) * 1e-6, labels);
    }
  }
}

void AddDispatch(const dispatch::DispatchMetrics& dispatch, Page* page) {
  // In the order of core::AttemptOutcome::Kind.
  constexpr std::array<const char*, dispatch::kOutcomeKinds> kOutcomes = {"response", "timed_out",
                                                                          "connection_failed"};
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    page->SetHistogram("sluice_dispatch_duration_seconds", dispatch::kLatencyBoundsUs,
                       dispatch.latency[i].buckets, dispatch.latency[i].sum_us,
                       {{"outcome", kOutcomes[i]}});
  }
  constexpr std::array<const char*, 6> kClasses = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    page->Set("sluice_dispatch_responses_total", dispatch.responses[i], {{"class", kClasses[i]}});
  }
  page->Set("sluice_dispatch_open", dispatch.attempts_open);
  page->Set("sluice_dispatch_refused_total", dispatch.attempts_refused);
  page->Set("sluice_dispatch_abandoned_total", dispatch.attempts_abandoned);
  page->Set("sluice_dispatch_connections_opened_total", dispatch.connections_opened);
}

void AddConnections(const front::net::ListenerStats& stats, Page* page) {
  page->Set("sluice_connections_accepted_total", stats.accepted);
  page->Set("sluice_connections_served_total", stats.grpc, {{"protocol", "grpc"}});
  page->Set("sluice_connections_served_total", stats.http1, {{"protocol", "http1"}});
  const std::pair<const char*, std::int64_t> early[] = {
      {"refused", stats.refused},
      {"expired", stats.pending_expired},
      {"evicted", stats.pending_evicted},
      {"hung_up", stats.pending_hung_up},
      {"out_of_descriptors", stats.out_of_descriptors}};
  for (const auto& [reason, count] : early) {
    page->Set("sluice_connections_closed_early_total", count, {{"reason", reason}});
  }
  page->Set("sluice_connections_open", stats.open);
  page->Set("sluice_connections_pending", stats.pending);
}

void AddRpcs(const MetricsInput& input, Page* page) {
  for (const RpcMetrics::Snapshot& rpc : input.rpcs) {
    const Labels labels = {{"service", std::string(rpc.method.service)},
                           {"method", std::string(rpc.method.name)}};
    for (std::size_t code = 0; code < rpc.by_code.size(); ++code) {
      if (rpc.by_code[code] == 0) continue;
      Labels with_code = labels;
      with_code.push_back(
          {"code", std::string(front::NameOf(static_cast<absl::StatusCode>(code)))});
      page->Set("sluice_rpcs_total", rpc.by_code[code], std::move(with_code));
    }
    page->SetHistogram("sluice_rpc_duration_seconds", kRpcBoundsUs, rpc.buckets, rpc.sum_us,
                       labels);
  }
  page->Set("sluice_rpcs_open", input.rpcs_open);
  page->Set("sluice_fault_calls_held", input.fault_calls_held);
}

void AddProcess(const MetricsInput& input, Page* page) {
  page->Set("process_resident_memory_bytes", input.process.resident_bytes);
  page->Set("process_cpu_seconds_total", input.process.cpu_seconds);
  page->Set("process_open_fds", input.process.open_descriptors);
  page->Set("process_start_time_seconds",
            static_cast<double>(ToMicros(input.process.start_time)) * 1e-6);
  page->Set("sluice_build_info", 1, {{"version", input.version}});
}

}  // namespace

std::string RenderMetrics(MetricsInput input) {
  Page page;
  AddEngine(input.engine, &page);
  AddDeadLetters(input.engine.dead_letters, &page);
  AddQueues(&input.queues, &page);
  AddDispatch(input.dispatch, &page);
  AddConnections(input.connections, &page);
  AddRpcs(input, &page);
  AddProcess(input, &page);
  return page.Text();
}

}  // namespace sluice::admin
