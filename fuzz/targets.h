// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is fuzzed: each target takes any bytes and dies when something that must hold
// for all of them does not. Two programs feed them: fuzz_corpus (every build, every
// test run) and, with clang, libFuzzer. Threading: one thread.

#include <string>
#include <string_view>
#include <vector>

namespace sluice::fuzz {

struct Target {
  std::string_view name;  // also its folder under corpus/
  void (*run)(std::string_view input);
};

/// Those that this build has: without gRPC, the ones of the core alone.
[[nodiscard]] const std::vector<Target>& Targets();

/// One input of a corpus file, which has one a line. They are text: a backslash begins an
/// escape, \xHH for a byte, \n, \r, \t or \\. Dies on another one.
[[nodiscard]] std::string ReadCorpusText(std::string_view line);

}  // namespace sluice::fuzz
