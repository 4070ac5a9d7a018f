// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ids the service generates for unnamed tasks: 19 decimal digits that look
// random and never repeat. They are the task's sequence, permuted by a key that
// is part of the data directory, so an id leads to its task without a name
// index (docs/format/store.md). Each queue permutes in its own way, so that an
// id copied into another queue does not look used there.
//
// Pure functions; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tasks/model.h"

namespace sluice::core {

inline constexpr std::size_t kGeneratedIdLength = 19;

/// The key of one queue's ids, from the key of the data directory.
[[nodiscard]] std::uint64_t QueueIdKey(std::uint64_t data_key, Incarnation queue);

/// Requires: 0 < sequence < 9 * 10^18.
[[nodiscard]] std::string GeneratedTaskId(Sequence sequence, std::uint64_t key);

/// The sequence behind an id of that form; nothing for any other string.
[[nodiscard]] std::optional<Sequence> SequenceOfGeneratedId(std::string_view task_id,
                                                            std::uint64_t key);

}  // namespace sluice::core
