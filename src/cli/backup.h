// SPDX-License-Identifier: Apache-2.0
#pragma once

// `sluice backup DIR`: asks a running server for a copy of its data.

#include <string>

#include "cli/exit_code.h"

namespace sluice::cli {

/// `dir` may be relative to the current folder; the server must run on this machine.
ExitCode Backup(const std::string& server, const std::string& dir);

}  // namespace sluice::cli
