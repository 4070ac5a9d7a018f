// SPDX-License-Identifier: Apache-2.0

// sluice_sim: the whole engine in simulation; its options are in seed_runner.h.

#include "sim/seed_runner.h"
#include "sim/simulation.h"

namespace {

using sluice::sim::Sabotage;

struct EngineSimulation {
  using Options = sluice::sim::SimulationOptions;
  using Report = sluice::sim::SimulationReport;
  static constexpr const char* kProgram = "sluice_sim";
  static constexpr const char* kAbout =
      "Runs the engine in simulation; one seed decides everything.";

  static std::map<std::string, Sabotage> Rules() {
    return {{"reply-before-sync", Sabotage::kReplyBeforeSync},
            {"store-before-sync", Sabotage::kStoreBeforeSync},
            {"drop-unflushed", Sabotage::kDropUnflushed}};
  }
  static Report Run(std::uint64_t seed, const Options& options) {
    return sluice::sim::RunSimulation(seed, options);
  }
  static void Add(const Report& report, Report* total) {
    total->events += report.events;
    total->commands += report.commands;
    total->creates_acknowledged += report.creates_acknowledged;
    total->attempts += report.attempts;
    total->deaths += report.deaths;
    total->cold_reads += report.cold_reads;
  }
  static std::string Summary(const Report& total) {
    return fmt::format(
        "{} events, {} commands, {} creates acknowledged, {} attempts, {} deaths, {} cold commands",
        total.events, total.commands, total.creates_acknowledged, total.attempts, total.deaths,
        total.cold_reads);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return sluice::sim::SeedRunner<EngineSimulation>().Main(argc, argv);
}
