// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values as people write them - in flags, in the environment and in the
// configuration file - read the same way in all three places. The messages say
// what was written and what is allowed; the caller puts in front where it stood.
//
// Pure functions; any thread.
// Failure: INVALID_ARGUMENT.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace sluice::admin {

/// `true` or `false`, nothing else: `yes` and `on` mean different things to different readers.
StatusOr<bool> ParseBool(std::string_view text);

StatusOr<std::int64_t> ParseInteger(std::string_view text, std::int64_t min, std::int64_t max);
/// Finite numbers only.
StatusOr<double> ParseReal(std::string_view text, double min, double max);

/// A number and a unit, or several in a row: `10s`, `250ms`, `1h30m`, `10d`.
/// Units: us, ms, s, m, h, d. A bare `0` is zero; any other bare number is refused.
StatusOr<Duration> ParseSpan(std::string_view text, Duration min, Duration max);
/// What ParseSpan reads as the same value.
[[nodiscard]] std::string SpanText(Duration span);

/// RFC 3339 with a zone: `2030-01-31T10:00:00Z`.
StatusOr<Time> ParseInstant(std::string_view text);
[[nodiscard]] std::string InstantText(Time time);

/// The entry of `known` that `word` was most likely meant to be; empty when
/// nothing is close.
[[nodiscard]] std::string_view Nearest(std::string_view word,
                                       const std::vector<std::string_view>& known);

}  // namespace sluice::admin
