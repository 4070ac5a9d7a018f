// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/metrics.h"

#include <gtest/gtest.h>

namespace sluice::sink {
namespace {

TEST(MetricRegistry, GroupsPrefixTheirNames) {
  MetricRegistry registry;
  registry.Group("errorClass")->Group("UNAVAILABLE")->GetCounter("errors").Add(2);
  registry.GetCounter("numRecordsSend").Add();
  EXPECT_EQ(registry.Sample("errorClass.UNAVAILABLE.errors"), 2);
  EXPECT_EQ(registry.Sample("numRecordsSend"), 1);
  EXPECT_EQ(registry.Sample("errors"), std::nullopt);
}

TEST(MetricRegistry, C44_NameAskedForAgainContinuesItsTotal) {
  MetricRegistry registry;
  registry.Group("destination")->GetCounter("x").Add(3);
  registry.Group("destination")->GetCounter("x").Add(1);
  EXPECT_EQ(registry.Sample("destination.x"), 4);
}

TEST(MetricRegistry, GaugeIsSampledAndReplaced) {
  MetricRegistry registry;
  int value = 7;
  registry.SetGauge("parkedTasks", [&value] { return value; });
  value = 8;
  EXPECT_EQ(registry.Sample("parkedTasks"), 8);
  registry.SetGauge("parkedTasks", [] { return -1; });
  const auto all = registry.SampleAll();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], (std::pair<std::string, std::int64_t>("parkedTasks", -1)));
}

}  // namespace
}  // namespace sluice::sink
