// SPDX-License-Identifier: Apache-2.0
#pragma once

// Time that only moves forward, for waits, backoffs and RPC deadlines. Its zero
// means nothing, so its points are never stored; the time of day is env::Clock.
//
// Threading: implementations may be used from any thread.

#include <chrono>

namespace sluice::env {

using MonotonicTime = std::chrono::steady_clock::time_point;

class MonotonicClock {
 public:
  virtual ~MonotonicClock() = default;
  [[nodiscard]] virtual MonotonicTime Now() const = 0;
};

}  // namespace sluice::env
