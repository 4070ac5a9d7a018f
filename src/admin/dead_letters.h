// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dead letters over the admin API: list, redrive, delete. A selection is walked in
// small steps, each a command of its own, so that other calls go in between; what a
// step did is durable before the next one begins. No task is sent twice by one request,
// also when it gives up again meanwhile.
//
// Threading: any. Ownership: engine and worker outlive the answer.

#include <functional>
#include <string>
#include <string_view>

#include "base/names.h"
#include "base/status.h"
#include "core/tasks/machine.h"
#include "env/executor.h"
#include "front/net/http.h"

namespace sluice::engine {
class Engine;
}  // namespace sluice::engine

namespace sluice::admin {

inline constexpr std::size_t kDeadLettersPageDefault = 100;
inline constexpr std::size_t kDeadLettersPageMax = 1000;
/// By id at most so many in one request.
inline constexpr std::size_t kDeadLetterIdsMax = 1000;

struct DeadLetterRequest {
  enum class Verb { kList, kRedrive, kDelete };
  Verb verb = Verb::kList;
  QueueName queue;
  core::DeadLetterSelection selection;
  bool is_full = false;  // list with bodies
};

/// `verb` is list, redrive or delete. Redrive and delete must say what they mean: ids,
/// a filter, or all. Errors: INVALID_ARGUMENT; NOT_FOUND for another verb.
StatusOr<DeadLetterRequest> ParseDeadLetterRequest(std::string_view verb, std::string_view body);

/// Answers once, on `worker`.
void RunDeadLetters(DeadLetterRequest request, engine::Engine& engine, env::Executor& worker,
                    std::function<void(front::net::HttpResponse)> answer);

}  // namespace sluice::admin
