// SPDX-License-Identifier: Apache-2.0

// sluice_sim --seed N [--verbose]     replays one run
// sluice_sim --seeds COUNT [--from N] runs many, each one twice where its number
//                                     divides by 50, to see that it repeats
// --sabotage RULE breaks a rule of the engine: the runs must then fail

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "sim/simulation.h"

namespace {

constexpr std::uint64_t kRepeatEvery = 50;
constexpr int kFailedSeedsMax = 5;

// True when the seed's run kept every promise and, if asked, repeats.
bool RunSeed(std::uint64_t seed, const sluice::sim::SimulationOptions& options, bool is_repeated,
             sluice::sim::SimulationReport* report) {
  *report = sluice::sim::RunSimulation(seed, options);
  if (is_repeated) {
    sluice::sim::SimulationOptions quiet = options;
    quiet.is_verbose = false;
    const std::uint64_t again = sluice::sim::RunSimulation(seed, quiet).trace_hash;
    if (again != report->trace_hash) report->failures.push_back("the run does not repeat");
  }
  for (const std::string& failure : report->failures) {
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), failure.c_str());
  }
  if (!report->failures.empty()) {
    std::printf("replay: sluice_sim --seed %llu --verbose\n",
                static_cast<unsigned long long>(seed));
  }
  std::fflush(stdout);
  return report->failures.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs the engine in simulation; one seed decides everything."};
  std::optional<std::uint64_t> seed;
  std::uint64_t count = 100;
  std::uint64_t from = 1;
  sluice::sim::SimulationOptions options;
  app.add_option("--seed", seed, "replay this seed");
  app.add_option("--seeds", count, "how many seeds to run");
  app.add_option("--from", from, "the first seed");
  const std::map<std::string, sluice::sim::Sabotage> sabotages{
      {"none", sluice::sim::Sabotage::kNone},
      {"reply-before-sync", sluice::sim::Sabotage::kReplyBeforeSync},
      {"store-before-sync", sluice::sim::Sabotage::kStoreBeforeSync},
      {"drop-unflushed", sluice::sim::Sabotage::kDropUnflushed}};
  app.add_option("--sabotage", options.sabotage, "break a rule on purpose; must be noticed")
      ->transform(CLI::CheckedTransformer(sabotages));
  app.add_flag("--verbose", options.is_verbose, "print every event");
  CLI11_PARSE(app, argc, argv);

  sluice::sim::SimulationReport report;
  if (seed) return RunSeed(*seed, options, true, &report) ? EXIT_SUCCESS : EXIT_FAILURE;

  int failed = 0;
  sluice::sim::SimulationReport total;
  for (std::uint64_t s = from; s < from + count && failed < kFailedSeedsMax; ++s) {
    if (!RunSeed(s, options, s % kRepeatEvery == 0, &report)) ++failed;
    total.events += report.events;
    total.commands += report.commands;
    total.creates_acknowledged += report.creates_acknowledged;
    total.attempts += report.attempts;
    total.deaths += report.deaths;
    total.cold_reads += report.cold_reads;
  }
  std::printf(
      "simulation: %llu seeds from %llu, %d failed; %llu events, %llu commands, %llu creates "
      "acknowledged, %llu attempts, %llu deaths, %llu cold commands\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(from), failed,
      static_cast<unsigned long long>(total.events),
      static_cast<unsigned long long>(total.commands),
      static_cast<unsigned long long>(total.creates_acknowledged),
      static_cast<unsigned long long>(total.attempts),
      static_cast<unsigned long long>(total.deaths),
      static_cast<unsigned long long>(total.cold_reads));
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
