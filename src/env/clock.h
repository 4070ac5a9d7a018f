// SPDX-License-Identifier: Apache-2.0
#pragma once

// The time of day as the server sees it: the one place from which "now" enters.
// Everything below the edges receives times as arguments.
//
// Threading: implementations may be used from any thread.

#include "base/time.h"

namespace sluice::env {

class Clock {
 public:
  virtual ~Clock() = default;

  /// The current time in whole microseconds. May step backwards (an operator
  /// sets the clock); whoever needs monotony enforces it.
  [[nodiscard]] virtual Time Now() const = 0;

  /// How long a thread should really sleep at most when it next wants to act at
  /// `deadline`. A system clock answers with the difference; a virtual clock
  /// with a long span, since moving it wakes the sleepers (VirtualClock::OnAdvance).
  [[nodiscard]] virtual Duration RealTimeUntil(Time deadline) const = 0;
};

}  // namespace sluice::env
