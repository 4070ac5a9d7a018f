// SPDX-License-Identifier: Apache-2.0

// sluice_sink_sim --seed N [--verbose]     replays one run
// sluice_sink_sim --seeds COUNT [--from N] runs many, some of them twice, to see that
//                                          they repeat
// --sabotage RULE breaks a rule on purpose: the runs must then fail

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "sim/sink_simulation.h"

namespace {

using sluice::sim::RunSinkSimulation;
using sluice::sim::SinkSabotage;
using sluice::sim::SinkSimulationOptions;
using sluice::sim::SinkSimulationReport;

constexpr std::uint64_t kRepeatEvery = 50;
constexpr int kFailedSeedsMax = 5;

bool RunSeed(std::uint64_t seed, const SinkSimulationOptions& options, const std::string& sabotage,
             bool is_repeated, SinkSimulationReport* report) {
  *report = RunSinkSimulation(seed, options);
  if (is_repeated) {
    SinkSimulationOptions quiet = options;
    quiet.is_verbose = false;
    if (RunSinkSimulation(seed, quiet).trace_hash != report->trace_hash) {
      report->failures.emplace_back("the run does not repeat");
    }
  }
  const auto number = static_cast<unsigned long long>(seed);
  for (const std::string& failure : report->failures) {
    std::printf("seed %llu: %s\n", number, failure.c_str());
  }
  if (!report->failures.empty()) {
    std::printf("replay: sluice_sink_sim --seed %llu --verbose%s%s\n", number,
                sabotage.empty() ? "" : " --sabotage ", sabotage.c_str());
  }
  std::fflush(stdout);
  return report->failures.empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs the sink in simulation; one seed decides everything."};
  std::optional<std::uint64_t> seed;
  std::uint64_t count = 100;
  std::uint64_t from = 1;
  std::string sabotage;
  SinkSimulationOptions options;
  const std::map<std::string, SinkSabotage> rules{
      {"ignore-deadline", SinkSabotage::kIgnoreDeadline},
      {"rename-on-retry", SinkSabotage::kRenameOnRetry},
      {"commit-before-durable", SinkSabotage::kCommitBeforeDurable},
      {"forget-pending", SinkSabotage::kForgetPending},
      {"skip-flush", SinkSabotage::kSkipFlush}};
  app.add_option("--seed", seed, "replay this seed");
  app.add_option("--seeds", count, "how many seeds to run");
  app.add_option("--from", from, "the first seed");
  app.add_option("--sabotage", sabotage, "break a rule on purpose; must be noticed")
      ->check(CLI::IsMember(rules));
  app.add_flag("--verbose", options.is_verbose, "print every event");
  CLI11_PARSE(app, argc, argv);
  if (!sabotage.empty()) options.sabotage = rules.at(sabotage);

  SinkSimulationReport report;
  if (seed) return RunSeed(*seed, options, sabotage, true, &report) ? EXIT_SUCCESS : EXIT_FAILURE;

  int failed = 0;
  SinkSimulationReport total;
  for (std::uint64_t s = from; s < from + count && failed < kFailedSeedsMax; ++s) {
    if (!RunSeed(s, options, sabotage, s % kRepeatEvery == 0, &report)) ++failed;
    total.records += report.records;
    total.calls += report.calls;
    total.deduplicated += report.deduplicated;
    total.lost_answers += report.lost_answers;
    total.crashes += report.crashes;
    total.expired += report.expired;
  }
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "sink simulation: %llu seeds from %llu, %d failed; %llu records, %llu calls, %llu "
      "recognized, "
      "%llu answers lost, %llu restarts, %llu envelopes expired\n",
      n(count), n(from), failed, n(total.records), n(total.calls), n(total.deduplicated),
      n(total.lost_answers), n(total.crashes), n(total.expired));
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
