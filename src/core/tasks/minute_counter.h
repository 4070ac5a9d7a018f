// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts what happened in the last sixty seconds, second by second, with the
// times of its caller. Threading: one thread.

#include <array>
#include <cstdint>

#include "base/time.h"

namespace sluice::core {

class MinuteCounter {
 public:
  void Add(Time now);
  [[nodiscard]] std::uint64_t Count(Time now) const;

 private:
  static constexpr std::int64_t kSlots = 60;

  // slots_[s % kSlots] counts second s, for the kSlots seconds up to latest_.
  std::array<std::uint32_t, kSlots> slots_{};
  std::int64_t latest_ = 0;
};

}  // namespace sluice::core
