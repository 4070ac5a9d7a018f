// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory, CPU time and descriptors of this process, as the kernel counts them.
// Any thread. Failure: a figure that cannot be read is zero.

#include "admin/metrics.h"

namespace sluice::cli {

/// `start_time` is passed through.
[[nodiscard]] admin::ProcessFigures ReadProcessFigures(Time start_time);

}  // namespace sluice::cli
