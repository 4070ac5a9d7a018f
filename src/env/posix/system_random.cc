// SPDX-License-Identifier: Apache-2.0
#include "env/posix/system_random.h"

#include <sys/random.h>

#include "base/status.h"

namespace sluice::env {

std::uint64_t SystemRandom::Bits() {
  if (used_ == kWords) {
    static_assert(sizeof(block_) <= 256, "longer reads may be interrupted");
    const ssize_t got = ::getrandom(block_.data(), sizeof(block_), 0);
    SLUICE_CHECK(got == static_cast<ssize_t>(sizeof(block_)), "the kernel gives no random bytes");
    used_ = 0;
  }
  return block_[used_++];
}

}  // namespace sluice::env
