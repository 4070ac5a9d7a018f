// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the process tells whoever started it. Part of the interface: scripts
// and service managers branch on it (docs/reference/cli.md).

#include <string>
#include <utility>

#include "base/status.h"

namespace sluice::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,     // something failed at run time
  kUsage = 2,       // flags, environment or configuration file
  kDataInUse = 3,   // another process has the data directory
  kDataDamaged = 4  // the data cannot be used as it is
};

/// An error that ends the command, with how it ends.
struct Failure {
  ExitCode code = ExitCode::kFailure;
  std::string message;
};

}  // namespace sluice::cli
