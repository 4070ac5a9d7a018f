// SPDX-License-Identifier: Apache-2.0
#pragma once

// How long a message waits after a failed delivery (spec pubsub 3.7). Pure; any thread.

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace sluice::core {

struct MessageRetryPolicy {
  Duration minimum_backoff = absl::Seconds(10);
  Duration maximum_backoff = absl::Seconds(600);
};

/// The wait after the failure number `failures` in a row: doubled from the minimum on, at
/// most the maximum, without jitter. A minimum of zero lets the first retry go at once and
/// doubles from 100 ms after it. Without a policy: zero. Requires: failures >= 1.
[[nodiscard]] Duration RedeliveryDelay(const std::optional<MessageRetryPolicy>& policy,
                                       std::int32_t failures);

}  // namespace sluice::core
