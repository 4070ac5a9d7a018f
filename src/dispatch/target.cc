// SPDX-License-Identifier: Apache-2.0
#include "dispatch/target.h"

#include "dispatch/uri_override.h"
#include "dispatch/url.h"

namespace sluice::dispatch {
namespace {

StatusOr<Target> AppEngineTarget(const core::StartAttempt& attempt, const TargetOptions& options) {
  const core::TaskBody& task = *attempt.task.body;
  // The queue's routing replaces the task's as a whole (spec 2.9).
  const core::AppEngineRouting& queue = attempt.targets.app_engine();
  Target target;
  SLUICE_ASSIGN_OR_RETURN(
      const std::string_view base,
      options.app_engine.BaseUrl(queue.names_nothing() ? *task.request.app_engine : queue));
  SLUICE_ASSIGN_OR_RETURN(target.url, UrlForRequest(std::string(base) + task.request.url));
  target.method = task.request.method;
  target.deadline = task.dispatch_deadline == absl::ZeroDuration() ? options.app_engine_deadline
                                                                   : task.dispatch_deadline;
  target.may_redirect = false;  // spec 4.5
  return target;
}

}  // namespace

StatusOr<Target> TargetOf(const core::StartAttempt& attempt, const TargetOptions& options) {
  const core::TaskBody& task = *attempt.task.body;
  if (task.request.app_engine) return AppEngineTarget(attempt, options);
  const core::HttpTarget& queue = attempt.targets.http();
  Target target;
  if (queue.uri == core::UriOverride{}) {
    SLUICE_ASSIGN_OR_RETURN(target.url, UrlForRequest(task.request.url));
  } else {
    SLUICE_ASSIGN_OR_RETURN(const std::string url, OverrideUrl(task.request.url, queue.uri,
                                                               options.empty_override_clears));
    SLUICE_ASSIGN_OR_RETURN(target.url, UrlForRequest(url));
  }
  // The HTTP client leaves the body out where the method has none.
  target.method = queue.method.value_or(task.request.method);
  target.deadline = task.dispatch_deadline;
  return target;
}

const core::Token& TokenOf(const core::StartAttempt& attempt) {
  static const core::Token kNone;
  const core::HttpRequest& request = attempt.task.body->request;
  if (request.app_engine) return kNone;
  const core::Token& queue = attempt.targets.http().token;
  return std::holds_alternative<std::monostate>(queue) ? request.token : queue;
}

}  // namespace sluice::dispatch
