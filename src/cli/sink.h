// SPDX-License-Identifier: Apache-2.0
#pragma once

// `sluice sink`: a stream of records becomes tasks (lib/runner does it).

#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace sluice::cli {

/// `arguments` are those behind `sink`: `--key value` or `--key=value` for each option,
/// `--config FILE` for a file of them, `--help`. SIGTERM and SIGINT end the run after a
/// last checkpoint; a second one at once.
ExitCode Sink(const std::vector<std::string>& arguments);

}  // namespace sluice::cli
