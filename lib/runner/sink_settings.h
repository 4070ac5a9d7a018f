// SPDX-License-Identifier: Apache-2.0
#pragma once

// The options of a run as the library's settings. A pure function; any thread.
// Failure: INVALID_ARGUMENT of the library's builders.

#include "base/status.h"
#include "runner/options.h"
#include "sluice/sink/sink_settings.h"

namespace sluice::runner {

/// All but the handler, which needs the record under way.
StatusOr<sink::SinkSettings> ToSinkSettings(const RunnerOptions& options);

}  // namespace sluice::runner
