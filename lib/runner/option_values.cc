// SPDX-License-Identifier: Apache-2.0
//
// Durations, sizes and lists of headers as people write them.

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

void TrimLeft(std::string_view* text) {
  while (text->starts_with(' ') || text->starts_with('\t')) text->remove_prefix(1);
}
void Trim(std::string_view* text) {
  TrimLeft(text);
  while (text->ends_with(' ') || text->ends_with('\t')) text->remove_suffix(1);
}

/// Takes `'...'` or `"..."` from the front of `rest`; nothing when it has no end.
std::optional<std::string> TakeQuoted(std::string_view* rest) {
  const char quote = rest->front();
  std::string value;
  for (std::size_t at = 1; at < rest->size(); ++at) {
    if ((*rest)[at] != quote) {
      value += (*rest)[at];
    } else if (at + 1 < rest->size() && (*rest)[at + 1] == quote) {
      value += quote;
      ++at;
    } else {
      rest->remove_prefix(at + 1);
      return value;
    }
  }
  return std::nullopt;
}

/// A value up to its comma, which is taken too.
std::optional<std::string> TakeValue(std::string_view* rest) {
  TrimLeft(rest);
  std::optional<std::string> quoted;
  if (rest->starts_with('\'') || rest->starts_with('"')) {
    quoted = TakeQuoted(rest);
    if (!quoted) return std::nullopt;
  }
  const std::size_t comma = rest->find(',');
  std::string_view plain = rest->substr(0, comma);
  rest->remove_prefix(comma == std::string_view::npos ? rest->size() : comma + 1);
  Trim(&plain);
  if (!quoted) return std::string(plain);
  return plain.empty() ? quoted : std::nullopt;  // text behind the closing quote
}

}  // namespace

StatusOr<HeaderList> ParseHeaderList(std::string_view text) {
  HeaderList headers;
  std::string_view rest = text;
  for (Trim(&rest); !rest.empty(); TrimLeft(&rest)) {
    const std::size_t colon = rest.find(':');
    std::string_view name = rest.substr(0, colon);
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    Trim(&name);
    std::optional<std::string> value;
    if (colon != std::string_view::npos) value = TakeValue(&rest);
    if (!value) {
      return InvalidArgument("\"{}\" is not a list of headers such as X-A: 1, X-B: '2, 3'", text);
    }
    headers.emplace_back(std::string(name), *std::move(value));
  }
  return headers;
}

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
