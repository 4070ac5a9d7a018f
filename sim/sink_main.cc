// SPDX-License-Identifier: Apache-2.0

// sluice_sink_sim: the sink against a model of the service; its options are in
// seed_runner.h.

#include "sim/seed_runner.h"
#include "sim/sink_simulation.h"

namespace {

using sluice::sim::SinkSabotage;

struct SinkSimulation {
  using Options = sluice::sim::SinkSimulationOptions;
  using Report = sluice::sim::SinkSimulationReport;
  static constexpr const char* kProgram = "sluice_sink_sim";
  static constexpr const char* kAbout = "Runs the sink in simulation; one seed decides everything.";

  static std::map<std::string, SinkSabotage> Rules() {
    return {{"ignore-deadline", SinkSabotage::kIgnoreDeadline},
            {"rename-on-retry", SinkSabotage::kRenameOnRetry},
            {"commit-before-durable", SinkSabotage::kCommitBeforeDurable},
            {"forget-pending", SinkSabotage::kForgetPending},
            {"skip-flush", SinkSabotage::kSkipFlush}};
  }
  static Report Run(std::uint64_t seed, const Options& options) {
    return sluice::sim::RunSinkSimulation(seed, options);
  }
  static void Add(const Report& report, Report* total) {
    total->records += report.records;
    total->calls += report.calls;
    total->deduplicated += report.deduplicated;
    total->lost_answers += report.lost_answers;
    total->crashes += report.crashes;
    total->expired += report.expired;
  }
  static std::string Summary(const Report& total) {
    return fmt::format(
        "{} records, {} calls, {} recognized, {} answers lost, {} restarts, {} envelopes expired",
        total.records, total.calls, total.deduplicated, total.lost_answers, total.crashes,
        total.expired);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return sluice::sim::SeedRunner<SinkSimulation>().Main(argc, argv);
}
