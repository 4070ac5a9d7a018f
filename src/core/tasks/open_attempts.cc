// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/open_attempts.h"

#include <utility>

namespace sluice::core {

AttemptId OpenAttempts::Open(OpenAttempt attempt) {
  bytes_ += attempt.bytes;
  const AttemptId id = next_id_++;
  open_.emplace(id, std::move(attempt));
  return id;
}

std::optional<OpenAttempt> OpenAttempts::Close(AttemptId id) {
  const auto it = open_.find(id);
  if (it == open_.end()) return std::nullopt;
  OpenAttempt attempt = std::move(it->second);
  open_.erase(it);
  bytes_ -= attempt.bytes;
  return attempt;
}

}  // namespace sluice::core
