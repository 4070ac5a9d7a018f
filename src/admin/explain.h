// SPDX-License-Identifier: Apache-2.0
#pragma once

// "Why has this task not run yet?" as an answer: the task's counters and every
// reason it waits for, each with a sentence for people.
//
// Pure functions; any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/names.h"
#include "base/time.h"
#include "core/tasks/machine.h"

namespace sluice::admin {

[[nodiscard]] nlohmann::json ExplanationToJson(const TaskName& name,
                                               const core::Explanation& explanation, Time now);

/// One reason as a sentence; `queue` is the queue's full name.
[[nodiscard]] std::string WaitSentence(const core::Wait& wait, const std::string& queue, Time now);

}  // namespace sluice::admin
