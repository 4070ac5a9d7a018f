// SPDX-License-Identifier: Apache-2.0
#include "admin/value_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace sluice::admin {
namespace {

struct Unit {
  std::string_view suffix;
  Duration span;
};

const std::vector<Unit>& Units() {
  static const std::vector<Unit> units = {
      {"d", absl::Hours(24)},  {"h", absl::Hours(1)},         {"m", absl::Minutes(1)},
      {"s", absl::Seconds(1)}, {"ms", absl::Milliseconds(1)}, {"us", absl::Microseconds(1)},
  };
  return units;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNumberPart(char c) { return IsDigit(c) || c == '.'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

StatusOr<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return InvalidArgument("\"{}\" is not true or false", text);
}

StatusOr<std::int64_t> ParseInteger(std::string_view text, std::int64_t min, std::int64_t max) {
  const auto value = ParseNumber<std::int64_t>(text);
  if (!value) {
    return InvalidArgument("\"{}\" is not a whole number; allowed are {} to {}", text, min, max);
  }
  if (*value < min || *value > max) {
    return InvalidArgument("{} is outside {} to {}", *value, min, max);
  }
  return *value;
}

StatusOr<double> ParseReal(std::string_view text, double min, double max) {
  const auto value = ParseNumber<double>(text);
  if (!value || !std::isfinite(*value)) {
    return InvalidArgument("\"{}\" is not a number; allowed are {} to {}", text, min, max);
  }
  if (*value < min || *value > max) {
    return InvalidArgument("{} is outside {} to {}", *value, min, max);
  }
  return *value;
}

StatusOr<Duration> ParseSpan(std::string_view text, Duration min, Duration max) {
  const auto refuse = [&] {
    return InvalidArgument(
        "\"{}\" is not a duration; write a number and a unit (us, ms, s, m, h, d), such as 10s or "
        "1h30m",
        text);
  };
  Duration total = absl::ZeroDuration();
  if (text.empty()) return refuse();
  for (std::string_view rest = text == "0" ? "0s" : text; !rest.empty();) {
    const auto number_end = std::find_if_not(rest.begin(), rest.end(), IsNumberPart);
    const auto unit_end = std::find_if_not(number_end, rest.end(), IsLetter);
    const std::string_view number(rest.data(), static_cast<std::size_t>(number_end - rest.begin()));
    const std::string_view suffix(rest.data() + number.size(),
                                  static_cast<std::size_t>(unit_end - number_end));
    const auto& units = Units();
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.suffix == suffix; });
    const auto value = ParseNumber<double>(number);
    if (unit == units.end() || !value) return refuse();
    total += *value * unit->span;
    rest.remove_prefix(number.size() + suffix.size());
  }
  total = absl::Trunc(total, absl::Microseconds(1));
  if (total < min || total > max) {
    return InvalidArgument("{} is outside {} to {}", text, SpanText(min),
                           max == absl::InfiniteDuration() ? "unlimited" : SpanText(max));
  }
  return total;
}

std::string SpanText(Duration span) {
  if (span == absl::ZeroDuration()) return "0s";
  for (const Unit& unit : Units()) {
    if (span % unit.span == absl::ZeroDuration()) {
      return fmt::format("{}{}", span / unit.span, unit.suffix);
    }
  }
  return fmt::format("{}us", ToMicros(span));
}

StatusOr<Time> ParseInstant(std::string_view text) {
  Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, absl::string_view(text.data(), text.size()), &time,
                       &error) ||
      time == absl::InfiniteFuture() || time == absl::InfinitePast()) {
    return InvalidArgument("\"{}\" is not a time; write it as 2030-01-31T10:00:00Z", text);
  }
  return FloorToMicros(time);
}

std::string InstantText(Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

std::string_view Nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace sluice::admin
