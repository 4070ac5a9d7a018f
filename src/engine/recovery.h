// SPDX-License-Identifier: Apache-2.0
#pragma once

// From what a stop or a crash left on disk to a store that holds everything the
// log holds. The same steps for the server and the simulator.
//
// Failure: damage stops the start with DATA_LOSS and says what to do; nothing
// is repaired by guessing (design, section 4 rule 4).

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/records.h"
#include "log/log.h"
#include "store/store.h"

namespace sluice::env {
class Executor;
class FileSystem;
}  // namespace sluice::env

namespace sluice::engine {

struct Recovered {
  std::unique_ptr<log::Log> log;
  Checkpoint checkpoint;  // with this start's epoch
  log::RecoveryReport report;
};

/// Opens the log in `log_dir` and applies to `store` every frame after the
/// store's applied position. `fresh_id_key` is used when the data is new.
StatusOr<Recovered> Recover(env::FileSystem& files, const std::string& log_dir,
                            const log::Options& options, store::Store& store,
                            std::uint64_t fresh_id_key);

/// A frame's changes as the store gets them: with the meta record that says
/// which position they bring it to.
store::Batch BatchForStore(const store::Batch& changes, const Checkpoint& checkpoint,
                           log::Position position);

}  // namespace sluice::engine
