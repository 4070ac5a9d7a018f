// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many rounds a random test runs: few in a normal run, as many as
// SLUICE_SOAK_ROUNDS says on demand. Test code only.

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sluice::store {

inline int RoundsOr(int normal) {
  const char* rounds = std::getenv("SLUICE_SOAK_ROUNDS");
  return rounds == nullptr ? normal : std::max(1, std::atoi(rounds));
}

}  // namespace sluice::store
