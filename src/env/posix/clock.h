// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machine's wall clock. Threading: any thread.

#include "env/clock.h"

namespace sluice::env {

class SystemClock : public Clock {
 public:
  [[nodiscard]] Time Now() const override;
  /// Zero when the deadline has passed.
  [[nodiscard]] Duration RealTimeUntil(Time deadline) const override;
};

}  // namespace sluice::env
