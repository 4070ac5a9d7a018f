// SPDX-License-Identifier: Apache-2.0
#pragma once

// One simulated run of the whole engine, decided by one number: clients that
// create, delete, run, list, purge and reconfigure; a target that answers,
// fails, hangs, answers late or twice; a server that is killed, loses power or
// meets a failing disk. After a while the faults stop and everything must
// drain. The same seed gives the same run, event for event.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/sim_server.h"

namespace sluice::sim {

struct SimulationOptions {
  bool is_verbose = false;  // print every event
  Sabotage sabotage = Sabotage::kNone;
};

struct SimulationReport {
  std::uint64_t seed = 0;
  std::vector<std::string> failures;  // empty: every promise held
  std::uint64_t trace_hash = 0;       // equal for equal runs
  std::uint64_t events = 0;
  std::uint64_t commands = 0;
  std::uint64_t creates_acknowledged = 0;
  std::uint64_t attempts = 0;
  std::uint64_t deaths = 0;
  std::uint64_t cold_reads = 0;
};

SimulationReport RunSimulation(std::uint64_t seed, const SimulationOptions& options);

}  // namespace sluice::sim
