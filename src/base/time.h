// SPDX-License-Identifier: Apache-2.0
#pragma once

// Points in time and spans, as the whole project uses them. All stored and
// computed times are whole microseconds since the Unix epoch: the finest
// precision the public API promises. Pure functions, no clock here: reading
// the clock belongs to env/.

#include <cstdint>

#include "absl/time/time.h"

namespace sluice {

using Time = absl::Time;
using Duration = absl::Duration;

/// Whole microseconds since the epoch; fractions round towards the past.
/// Values outside the representable range saturate.
[[nodiscard]] std::int64_t ToMicros(Time t);
[[nodiscard]] Time FromMicros(std::int64_t us);

[[nodiscard]] std::int64_t ToMicros(Duration d);
[[nodiscard]] Duration DurationFromMicros(std::int64_t us);

/// `t` without the fraction below one microsecond.
[[nodiscard]] Time FloorToMicros(Time t);
/// `t` without the fraction below one second, as `Task.create_time` is shown.
[[nodiscard]] Time FloorToSeconds(Time t);

}  // namespace sluice
