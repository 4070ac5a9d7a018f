// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers that look random and follow from their input alone, for decisions
// that must be the same again: which calls a fault hits, which attempts are logged.
// Pure functions; any thread.

#include <cstdint>

namespace sluice::admin {

/// A well-mixed number for each input (the finaliser of SplitMix64).
[[nodiscard]] constexpr std::uint64_t Mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// In [0, 1), from the upper 53 bits.
[[nodiscard]] constexpr double ToUnit(std::uint64_t x) {
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

}  // namespace sluice::admin
