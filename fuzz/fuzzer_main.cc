// SPDX-License-Identifier: Apache-2.0

// libFuzzer's entry: sluice_fuzz --target=NAME [libFuzzer's own options and folders].

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "targets.h"

namespace {
const sluice::fuzz::Target* chosen = nullptr;
}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.substr(0, kOption.size()) != kOption) continue;
    for (const auto& target : sluice::fuzz::Targets()) {
      if (target.name == argument.substr(kOption.size())) chosen = &target;
    }
  }
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "--target=NAME is one of:");
  for (const auto& target : sluice::fuzz::Targets()) {
    std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
  }
  std::fprintf(stderr, "\n");
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
