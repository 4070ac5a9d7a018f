// SPDX-License-Identifier: Apache-2.0
#include "env/posix/clock.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace sluice::env {

Time SystemClock::Now() const { return FloorToMicros(absl::Now()); }

Duration SystemClock::RealTimeUntil(Time deadline) const {
  return std::max(deadline - absl::Now(), absl::ZeroDuration());
}

}  // namespace sluice::env
