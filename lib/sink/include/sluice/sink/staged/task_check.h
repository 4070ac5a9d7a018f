// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a staged task must look like: named under its own queue with an id that
// this sink made, and with a target the service could accept at all. The same
// check runs when a task is staged and again when a committer admits it, since
// state may come from anywhere.
//
// Pure functions; any thread. Failure: never echoes a name, URL, header or body.

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace google::cloud::tasks::v2 {
class Task;
}

namespace sluice::sink {

/// Whether `id` is 32 (random) or 64 (SHA-256) lower-case hexadecimal characters.
[[nodiscard]] bool IsStagedTaskId(std::string_view id);

/// Errors: INVALID_ARGUMENT "target constraints", without the values.
Status CheckTaskTarget(const google::cloud::tasks::v2::Task& task);

/// Parses and checks the bytes of an envelope that belongs to `queue`. Errors:
/// DATA_LOSS "encoding" when they are not a Task; INVALID_ARGUMENT for the name or
/// the target constraints.
Status CheckStagedTask(std::string_view queue, std::string_view task);

}  // namespace sluice::sink
