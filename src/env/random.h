// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers as an interface, so that a test or a simulation can repeat a run.
//
// Threading: one thread at a time for each object.

#include <cstdint>

namespace sluice::env {

class Random {
 public:
  virtual ~Random() = default;

  /// 64 independent uniform bits. The system's source is fit for cryptography.
  [[nodiscard]] virtual std::uint64_t Bits() = 0;

  /// Uniform in [0, 1).
  [[nodiscard]] double Unit() {
    constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;
    return static_cast<double>(Bits() >> 11) * kTwoToMinus53;
  }
};

}  // namespace sluice::env
