// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

void CheckFailed(std::string_view file, int line, std::string_view condition,
                 std::string_view message) {
  std::fprintf(stderr, "FATAL %.*s:%d: %.*s: %.*s\n", static_cast<int>(file.size()), file.data(),
               line, static_cast<int>(condition.size()), condition.data(),
               static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace sluice
