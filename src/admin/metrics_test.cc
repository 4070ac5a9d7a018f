// SPDX-License-Identifier: Apache-2.0
#include "admin/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "admin/metric_table.h"

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr front::Method kMethods[] = {{"s", "CreateTask"}, {"s", "GetTask"}};

/// Input in which every metric of the table has a value.
MetricsInput FullInput() {
  RpcMetrics rpcs({std::span<const front::Method>(kMethods)});
  rpcs.Finished(kMethods[0], rpcs.Started(kMethods[0]), absl::StatusCode::kOk);
  MetricsInput input;
  input.rpcs = rpcs.Read();
  input.engine.tasks_created = 12;
  input.engine.tasks_ended[4] = 3;
  engine::NamedStats queue;
  queue.name = QueueName::Parse("projects/p/locations/l/queues/q").value();
  queue.stats.task_count = 5;
  queue.stats.next_schedule_time = absl::FromUnixSeconds(1000);
  input.queues.push_back(queue);
  input.dispatch.responses[2] = 4;
  input.dispatch.latency[0].buckets[1] = 2;
  input.dispatch.latency[0].buckets.back() = 1;
  input.dispatch.latency[0].sum_us = 1'500'000;
  input.version = "1.2.3";
  return input;
}

std::set<std::string> FamiliesOf(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

TEST(Metrics, EveryMetricOfTheTableIsShown) {
  const std::set<std::string> shown = FamiliesOf(RenderMetrics(FullInput()));
  for (const MetricDescription& metric : MetricTable()) {
    EXPECT_TRUE(shown.contains(std::string(metric.name))) << metric.name;
  }
  EXPECT_EQ(shown.size(), MetricTable().size());
}

TEST(Metrics, ValuesCarryTheirLabels) {
  const std::string text = RenderMetrics(FullInput());
  EXPECT_THAT(text, HasSubstr("\nsluice_tasks_created_total 12\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_tasks_ended_total{end=\"exhausted\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("\nsluice_queue_tasks{queue=\"projects/p/locations/l/queues/q\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_dispatch_responses_total{class=\"2xx\"} 4\n"));
  EXPECT_THAT(
      text, HasSubstr("\nsluice_rpcs_total{service=\"s\",method=\"CreateTask\",code=\"OK\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("GetTask")));
}

TEST(Metrics, HistogramsAreCumulativeAndInSeconds) {
  const std::string text = RenderMetrics(FullInput());
  const std::string series = "sluice_dispatch_duration_seconds_";
  EXPECT_THAT(text, HasSubstr(series + "bucket{outcome=\"response\",le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(series + "bucket{outcome=\"response\",le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(series + "bucket{outcome=\"response\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(series + "count{outcome=\"response\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(series + "sum{outcome=\"response\"} 1.5\n"));
}

TEST(Metrics, QueuesBeyondTheMaximumAreCountedNotShown) {
  MetricsInput input;
  for (std::size_t i = 0; i < kQueuesShownMax + 2; ++i) {
    engine::NamedStats queue;
    queue.name = QueueName::Parse(fmt::format("projects/p/locations/l/queues/q{:05}", i)).value();
    input.queues.insert(input.queues.begin(), queue);
  }
  const std::string text = RenderMetrics(input);
  EXPECT_THAT(text, HasSubstr("\nsluice_queues_not_shown 2\n"));
  EXPECT_THAT(text, HasSubstr("queues/q00999\"}"));
  EXPECT_THAT(text, Not(HasSubstr("queues/q01000\"}")));
}

TEST(RpcMetrics, CallsAreCountedByMethodAndCodeAndOpenOnesAreKnown) {
  RpcMetrics rpcs({std::span<const front::Method>(kMethods)});
  const std::uint64_t first = rpcs.Started(kMethods[0]);
  const std::uint64_t second = rpcs.Started(kMethods[1]);
  EXPECT_EQ(rpcs.open_count(), 2);
  rpcs.Finished(kMethods[0], first, absl::StatusCode::kOk);
  rpcs.Finished(kMethods[1], second, absl::StatusCode::kNotFound);
  const front::Method stranger{"x", "y"};
  rpcs.Finished(stranger, rpcs.Started(stranger), static_cast<absl::StatusCode>(99));
  EXPECT_EQ(rpcs.open_count(), 0);
  const std::vector<RpcMetrics::Snapshot> all = rpcs.Read();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].by_code[0], 1u);
  EXPECT_EQ(all[1].by_code[static_cast<std::size_t>(absl::StatusCode::kNotFound)], 1u);
  EXPECT_EQ(all[2].method.name, "other");
  EXPECT_EQ(all[2].by_code[static_cast<std::size_t>(absl::StatusCode::kUnknown)], 1u);
}

TEST(Metrics, TheReferencePageListsExactlyTheTable) {
  std::ifstream in(std::string(SLUICE_SOURCE_DIR) + "/docs/reference/metrics.md");
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    EXPECT_TRUE(rows.emplace(line.substr(3, line.find('`', 3) - 3), line).second) << line;
  }
  for (const MetricDescription& metric : MetricTable()) {
    const auto row = rows.find(std::string(metric.name));
    ASSERT_NE(row, rows.end()) << metric.name << " is missing in the page";
    EXPECT_THAT(row->second, HasSubstr(std::string(metric.unit)));
    EXPECT_THAT(row->second, HasSubstr(std::string(metric.labels)));
    EXPECT_THAT(row->second, HasSubstr(std::string(metric.help)));
    rows.erase(row);
  }
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is in the page only";
}

}  // namespace
}  // namespace sluice::admin
