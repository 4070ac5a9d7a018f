// SPDX-License-Identifier: Apache-2.0
#include "core/messages/redelivery.h"

#include <algorithm>

#include "base/status.h"

namespace sluice::core {
namespace {

constexpr Duration kStepAfterZero = absl::Milliseconds(100);

}  // namespace

Duration RedeliveryDelay(const std::optional<MessageRetryPolicy>& policy, std::int32_t failures) {
  SLUICE_CHECK(failures >= 1, "a delay without a failure");
  if (!policy) return absl::ZeroDuration();
  Duration delay = policy->minimum_backoff;
  std::int32_t doublings = failures - 1;
  if (delay <= absl::ZeroDuration()) {
    if (doublings == 0) return absl::ZeroDuration();
    delay = kStepAfterZero;
    --doublings;
  }
  for (; doublings > 0 && delay < policy->maximum_backoff; --doublings) delay *= 2;
  return std::min(delay, policy->maximum_backoff);
}

}  // namespace sluice::core
