// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every metric the server shows, with its meaning: the one list that the
// exposition is checked against when it is written and that
// docs/reference/metrics.md is checked against by a test.
//
// Constant data; any thread.

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::admin {

struct MetricDescription {
  enum class Type : std::uint8_t { kCounter, kGauge, kHistogram };
  std::string_view name;
  Type type;
  std::string_view unit;    // "tasks", "bytes", "seconds"
  std::string_view labels;  // "queue", or "service, method"; empty: none
  std::string_view help;
};

[[nodiscard]] const std::vector<MetricDescription>& MetricTable();

}  // namespace sluice::admin
