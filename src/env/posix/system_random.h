// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel's random source (getrandom), read in blocks. A failure of the kernel
// to give random bytes ends the process: names built on worse ones would collide.
// Threading: one thread at a time for each object.

#include <array>
#include <cstddef>

#include "env/random.h"

namespace sluice::env {

class SystemRandom : public Random {
 public:
  [[nodiscard]] std::uint64_t Bits() override;

 private:
  static constexpr std::size_t kWords = 32;
  std::array<std::uint64_t, kWords> block_{};
  std::size_t used_ = kWords;
};

}  // namespace sluice::env
