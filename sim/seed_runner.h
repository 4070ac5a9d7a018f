// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command line of a simulation. One seed is replayed, or many run one after another.
//
//   --seed N [--verbose]      replays one run
//   --seeds COUNT [--from N]  runs many; each whose number divides by 50 twice, to see
//                             that it repeats
//   --sabotage RULE           breaks a rule on purpose: the runs must then fail
//
// A run that fails prints its findings and the command that replays it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace sluice::sim {

/// What SeedRunner must know of a simulation:
///   Options   with bool is_verbose and a Sabotage `sabotage`
///   Report    with failures (std::vector<std::string>) and trace_hash
///   kProgram  the name of the command
///   kAbout    its help text
///   Rules()   the sabotages by name
///   Run(seed, options), Add(report, total), Summary(total)
template <typename Simulation>
class SeedRunner {
 public:
  int Main(int argc, char** argv) {
    CLI::App app{Simulation::kAbout};
    std::optional<std::uint64_t> seed;
    std::uint64_t count = 100;
    std::uint64_t from = 1;
    const auto rules = Simulation::Rules();
    app.add_option("--seed", seed, "replay this seed");
    app.add_option("--seeds", count, "how many seeds to run");
    app.add_option("--from", from, "the first seed");
    app.add_option("--sabotage", sabotage_, "break a rule on purpose; must be noticed")
        ->check(CLI::IsMember(rules));
    app.add_flag("--verbose", options_.is_verbose, "print every event");
    CLI11_PARSE(app, argc, argv);
    if (!sabotage_.empty()) options_.sabotage = rules.at(sabotage_);

    typename Simulation::Report total;
    if (seed) return RunSeed(*seed, true, &total) ? EXIT_SUCCESS : EXIT_FAILURE;
    int failed = 0;
    for (std::uint64_t s = from; s < from + count && failed < kFailedSeedsMax; ++s) {
      if (!RunSeed(s, s % kRepeatEvery == 0, &total)) ++failed;
    }
    fmt::print("{}: {} seeds from {}, {} failed; {}\n", Simulation::kProgram, count, from, failed,
               Simulation::Summary(total));
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  static constexpr std::uint64_t kRepeatEvery = 50;
  static constexpr int kFailedSeedsMax = 5;

  // True when the run kept every promise and, if asked, repeats.
  bool RunSeed(std::uint64_t seed, bool is_repeated, typename Simulation::Report* total) {
    auto report = Simulation::Run(seed, options_);
    Simulation::Add(report, total);
    if (is_repeated) {
      auto quiet = options_;
      quiet.is_verbose = false;
      if (Simulation::Run(seed, quiet).trace_hash != report.trace_hash) {
        report.failures.emplace_back("the run does not repeat");
      }
    }
    for (const std::string& failure : report.failures) {
      fmt::print("seed {}: {}\n", seed, failure);
    }
    if (!report.failures.empty()) {
      fmt::print("replay: {} --seed {} --verbose{}{}\n", Simulation::kProgram, seed,
                 sabotage_.empty() ? "" : " --sabotage ", sabotage_);
    }
    std::fflush(stdout);
    return report.failures.empty();
  }

  typename Simulation::Options options_;
  std::string sabotage_;
};

}  // namespace sluice::sim
