// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one attempt sends and where, from the task and what its queue says at that moment
// (spec 2.8, 2.9, 4.1, 4.4). The headers of the attempt itself are request_headers.h's.
//
// Pure functions; any thread.

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "core/tasks/effects.h"
#include "dispatch/app_engine.h"

namespace sluice::dispatch {

struct TargetOptions {
  AppEngineTable app_engine;
  /// Of an App Engine task that sets none (spec 3.4).
  Duration app_engine_deadline = absl::Minutes(10);
  /// An empty path or query in a queue's override clears the task's (spec 2.8).
  bool empty_override_clears = false;
};

struct Target {
  core::HttpMethod method = core::HttpMethod::kPost;
  std::string url;  // as it goes on the wire
  Duration deadline;
  bool may_redirect = true;  // as far as the server follows redirects at all
};

/// Errors: as UrlForRequest; NOT_FOUND for an App Engine service without an address.
[[nodiscard]] StatusOr<Target> TargetOf(const core::StartAttempt& attempt,
                                        const TargetOptions& options);

/// The queue's token, else the task's; never one for App Engine.
[[nodiscard]] const core::Token& TokenOf(const core::StartAttempt& attempt);

}  // namespace sluice::dispatch
