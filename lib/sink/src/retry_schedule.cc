// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/retry_schedule.h"

#include <algorithm>
#include <limits>

namespace sluice::sink {

std::chrono::milliseconds RetrySchedule::Backoff(int failure) const {
  std::int64_t delay = initial_.count();
  for (int i = 1; i < failure && delay < max_.count(); ++i) {
    if (delay > std::numeric_limits<std::int64_t>::max() / 2) return max_;
    delay *= 2;
  }
  return std::chrono::milliseconds(std::min<std::int64_t>(delay, max_.count()));
}

std::chrono::milliseconds RetrySchedule::Jittered(int failure, env::Random& random) const {
  const double factor = 0.75 + 0.5 * random.Unit();
  const double millis = static_cast<double>(Backoff(failure).count()) * factor;
  constexpr double kMax = 9.0e18;  // below 2^63, so that the conversion is defined
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(millis, kMax))));
}

}  // namespace sluice::sink
