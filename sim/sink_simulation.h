// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sink in simulation, both modes: writers, collector and committer of the library
// against the model service, through crashes, restarts from the last completed
// checkpoint, failed checkpoints and clocks that jump. One seed decides everything.

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::sim {

/// Rules to break on purpose; the runs must then fail.
enum class SinkSabotage {
  kNone,
  kIgnoreDeadline,       // expired envelopes are sent all the same
  kRenameOnRetry,        // another attempt draws another name
  kCommitBeforeDurable,  // tasks are created before their checkpoint is complete
  kForgetPending,        // a restart loses the envelopes of its checkpoint
  kSkipFlush,            // at least once: a checkpoint does not wait for its creates
};

struct SinkSimulationOptions {
  SinkSabotage sabotage = SinkSabotage::kNone;
  bool is_verbose = false;
};

struct SinkSimulationReport {
  std::vector<std::string> failures;
  std::uint64_t trace_hash = 0;
  std::uint64_t records = 0;
  std::uint64_t calls = 0;
  std::uint64_t deduplicated = 0;
  std::uint64_t lost_answers = 0;
  std::uint64_t crashes = 0;
  std::uint64_t expired = 0;
};

SinkSimulationReport RunSinkSimulation(std::uint64_t seed, const SinkSimulationOptions& options);

}  // namespace sluice::sim
