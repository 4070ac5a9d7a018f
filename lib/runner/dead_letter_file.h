// SPDX-License-Identifier: Apache-2.0
#pragma once

// Failed records as lines of JSON at the end of a file: why, where to, and the task
// or, when there was none, the record's own text. At least once: a failure that is
// met again after a restart has a second line. A line that a crash tore stays as it is; the
// next one begins on a line of its own.
//
// Threading: the host's thread. Ownership: `files` outlives it. Failure: a file that cannot be
// opened, written or synced fails the run.

#include <functional>
#include <memory>
#include <string>

#include "env/file_system.h"
#include "sluice/sink/failed_task_handler.h"

namespace sluice::runner {

/// `record` gives the text of the record under way; asked only when a failure has no
/// task, which is while its record is being written.
std::unique_ptr<sink::DeadLetterQueue> MakeDeadLetterFile(env::FileSystem& files, std::string path,
                                                          std::function<std::string()> record);

}  // namespace sluice::runner
