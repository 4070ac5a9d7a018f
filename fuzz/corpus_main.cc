// SPDX-License-Identifier: Apache-2.0

// Runs every committed input through its target, then inputs made of them by random
// changes. Needs no fuzzer: this is what every test run does, whatever the compiler.
//
//   fuzz_corpus CORPUS [--rounds N] [--seed S] [--only TARGET]
//
// Each file gets N changed copies. When a target dies, the last line says which input
// it was given, as a corpus file would have it.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "targets.h"

namespace {

using sluice::fuzz::Target;
using Random = std::mt19937_64;

std::string Escaped(const std::string& input) {
  std::string out;
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::vector<std::string> InputsOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  std::vector<std::string> inputs;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // One input a line, so that short ones need no file each.
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      inputs.push_back(sluice::fuzz::ReadCorpusText(text.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  return inputs;
}

// A copy with a few bytes changed, dropped, doubled, or taken from another input.
std::string Changed(std::string input, const std::string& other, Random& random) {
  const auto below = [&random](std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(random() % bound);
  };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t count = below(std::min<std::size_t>(input.size() - at, 16) + 1);
    switch (below(5)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 1:
        input.erase(at, count);
        break;
      case 2:
        input.insert(at, input.substr(at, count));
        break;
      case 3:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      default:
        const std::size_t from = below(other.size() + 1);
        input.replace(at, count, other.substr(from, below(32)));
    }
  }
  return input;
}

void Run(const Target& target, const std::string& input, std::FILE* last) {
  // Kept in a file while it runs; a sanitizer ends the process without a word of ours.
  std::rewind(last);
  if (::ftruncate(::fileno(last), 0) != 0) return;
  std::fprintf(last, "%s %s\n", std::string(target.name).c_str(), Escaped(input).c_str());
  std::fflush(last);
  target.run(input);
}

}  // namespace

int main(int argc, char** argv) {
  std::string corpus;
  std::string only;
  std::string last_path;
  std::uint64_t rounds = 200;
  std::uint64_t seed = 1;
  CLI::App app{"Runs committed and changed inputs through the fuzz targets."};
  app.add_option("corpus", corpus)->required()->check(CLI::ExistingDirectory);
  app.add_option("--rounds", rounds, "changed copies of each input");
  app.add_option("--seed", seed);
  app.add_option("--only", only, "one target");
  app.add_option("--last", last_path, "where to keep the input that runs (default: nowhere)");
  CLI11_PARSE(app, argc, argv);

  std::FILE* last = last_path.empty() ? std::tmpfile() : std::fopen(last_path.c_str(), "w");
  if (last == nullptr) return 1;
  for (const Target& target : sluice::fuzz::Targets()) {
    if (!only.empty() && only != target.name) continue;
    const std::vector<std::string> inputs = InputsOf(std::filesystem::path(corpus) / target.name);
    if (inputs.empty()) {
      std::fprintf(stderr, "%s has no corpus\n", std::string(target.name).c_str());
      return 1;
    }
    Random random(seed);
    std::uint64_t runs = 0;
    for (const std::string& input : inputs) {
      Run(target, input, last);
      for (std::uint64_t i = 0; i < rounds; ++i) {
        Run(target, Changed(input, inputs[random() % inputs.size()], random), last);
      }
      runs += rounds + 1;
    }
    std::printf("%-12s %6zu inputs %9llu runs\n", std::string(target.name).c_str(), inputs.size(),
                static_cast<unsigned long long>(runs));
  }
  std::fclose(last);
  return 0;
}
