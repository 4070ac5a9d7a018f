// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one source of chance in a simulated run. Its answers depend on the seed
// and the order of questions alone, on every platform.

#include <cstdint>
#include <random>

#include "base/time.h"

namespace sluice::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Any 64 bits.
  std::uint64_t Bits() { return engine_(); }
  /// From 0 up to, not including, `bound`. Requires: bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }
  /// From `low` to `high`, both included.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  /// From zero to `longest`, in microseconds.
  Duration UpTo(Duration longest) {
    return absl::Microseconds(Between(0, absl::ToInt64Microseconds(longest)));
  }
  /// One of the values given.
  template <typename T, typename... Ts>
  T Pick(T first, Ts... rest) {
    const T all[] = {first, static_cast<T>(rest)...};
    return all[Below(1 + sizeof...(rest))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sluice::sim
