// SPDX-License-Identifier: Apache-2.0
#pragma once

// `sluice explain TASK`: why a task of a running server has not run yet.

#include <string>

#include "cli/exit_code.h"

namespace sluice::cli {

ExitCode Explain(const std::string& server, const std::string& task);

}  // namespace sluice::cli
