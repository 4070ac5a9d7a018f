// SPDX-License-Identifier: Apache-2.0
#pragma once

// `sluice serve`: from the flags to a running server, until a signal ends it.

#include "cli/exit_code.h"
#include "cli/settings.h"

namespace sluice::cli {

/// Blocks until the server has stopped. Errors are printed.
ExitCode Serve(const FlagValues& flags);

}  // namespace sluice::cli
