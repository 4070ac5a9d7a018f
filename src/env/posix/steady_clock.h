// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machine's monotonic clock. Threading: any thread.

#include "env/monotonic_clock.h"

namespace sluice::env {

class SteadyClock : public MonotonicClock {
 public:
  [[nodiscard]] MonotonicTime Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace sluice::env
