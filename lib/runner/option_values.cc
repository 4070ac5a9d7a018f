// SPDX-License-Identifier: Apache-2.0
//
// Durations and sizes as people write them.

#include <charconv>
#include <limits>

#include "runner/options.h"

namespace sluice::runner {
namespace {

struct Amount {
  std::int64_t number = 0;
  std::string_view unit;
};

std::optional<Amount> Split(std::string_view text) {
  Amount amount;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (error != std::errc() || amount.number < 0) return std::nullopt;
  amount.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (amount.unit.starts_with(' ')) amount.unit.remove_prefix(1);
  return amount;
}

}  // namespace

StatusOr<Duration> ParseDuration(std::string_view text) {
  static const std::map<std::string_view, Duration> kUnits = {
      {"ns", absl::Nanoseconds(1)}, {"us", absl::Microseconds(1)}, {"ms", absl::Milliseconds(1)},
      {"s", absl::Seconds(1)},      {"sec", absl::Seconds(1)},     {"min", absl::Minutes(1)},
      {"m", absl::Minutes(1)},      {"h", absl::Hours(1)},         {"d", absl::Hours(24)}};
  const std::optional<Amount> amount = Split(text);
  const auto unit = amount ? kUnits.find(amount->unit) : kUnits.end();
  if (unit == kUnits.end()) {
    return InvalidArgument("\"{}\" is not a duration such as 500ms, 1s, 5 min, 1h or 2d", text);
  }
  return amount->number * unit->second;
}

StatusOr<std::int64_t> ParseMemorySize(std::string_view text) {
  static const std::map<std::string_view, int> kShifts = {
      {"", 0}, {"b", 0}, {"kb", 10}, {"k", 10}, {"mb", 20}, {"m", 20}, {"gb", 30}, {"g", 30}};
  const std::optional<Amount> amount = Split(text);
  const auto shift = amount ? kShifts.find(amount->unit) : kShifts.end();
  if (shift == kShifts.end() ||
      amount->number > (std::numeric_limits<std::int64_t>::max() >> shift->second)) {
    return InvalidArgument("\"{}\" is not a size such as 4096, 512kb, 64mb or 1gb", text);
  }
  return amount->number << shift->second;
}

}  // namespace sluice::runner
