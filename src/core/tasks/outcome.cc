// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/outcome.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/tasks/dead_letters.h"
#include "core/tasks/dispatch.h"
#include "core/tasks/lifecycle.h"
#include "core/tasks/retry.h"
#include "core/tasks/throttle.h"

namespace sluice::core {

namespace {

constexpr std::int32_t kGatewayTimeout = 504;
constexpr std::int32_t kServiceUnavailable = 503;

struct RpcCode {
  std::int32_t number;
  std::string_view name;
};
constexpr RpcCode kCancelled{1, "CANCELLED"};
constexpr RpcCode kUnknown{2, "UNKNOWN"};
constexpr RpcCode kInvalidArgument{3, "INVALID_ARGUMENT"};
constexpr RpcCode kDeadlineExceeded{4, "DEADLINE_EXCEEDED"};
constexpr RpcCode kNotFound{5, "NOT_FOUND"};
constexpr RpcCode kPermissionDenied{7, "PERMISSION_DENIED"};
constexpr RpcCode kResourceExhausted{8, "RESOURCE_EXHAUSTED"};
constexpr RpcCode kAborted{10, "ABORTED"};
constexpr RpcCode kUnimplemented{12, "UNIMPLEMENTED"};
constexpr RpcCode kInternal{13, "INTERNAL"};
constexpr RpcCode kUnavailable{14, "UNAVAILABLE"};
constexpr RpcCode kUnauthenticated{16, "UNAUTHENTICATED"};

RpcCode CodeOfHttpStatus(std::int32_t http_status) {
  switch (http_status) {
    case 400:
      return kInvalidArgument;
    case 401:
      return kUnauthenticated;
    case 403:
      return kPermissionDenied;
    case 404:
      return kNotFound;
    case 409:
      return kAborted;
    case 429:
      return kResourceExhausted;
    case 499:
      return kCancelled;
    case 500:
      return kInternal;
    case 501:
      return kUnimplemented;
    case 503:
      return kUnavailable;
    case 504:
      return kDeadlineExceeded;
    default:
      return kUnknown;
  }
}

void Count(std::int32_t* counter) {
  if (*counter < std::numeric_limits<std::int32_t>::max()) ++*counter;
}

void Remember(const OpenAttempt& failed, const AttemptOutcome& outcome, Time now,
              std::vector<PastAttempt>* past) {
  if (past->size() >= kPastAttemptsMax) past->erase(past->begin());
  past->push_back(
      {.dispatch_time = failed.attempt.dispatch_time,
       .end_time = now,
       .http_status = outcome.kind == AttemptOutcome::Kind::kResponse ? outcome.http_status : 0,
       .code = StatusOf(outcome).code});
}

/// `is_latest`: the attempt is the one that last_attempt shows.
void RecordFailure(const AttemptOutcome& outcome, bool is_latest, bool is_app_engine, Time now,
                   TaskProgress* progress) {
  switch (outcome.kind) {
    case AttemptOutcome::Kind::kResponse:
      Count(&progress->response_count);
      if (outcome.http_status < 500 || outcome.http_status > 599) {
        Count(&progress->execution_count);
      }
      progress->previous_response = outcome.http_status;
      break;
    case AttemptOutcome::Kind::kTimedOut:
      progress->previous_response = is_app_engine ? 0 : kGatewayTimeout;
      break;
    case AttemptOutcome::Kind::kConnectionFailed:
      progress->previous_response = is_app_engine ? 0 : kServiceUnavailable;
      break;
  }
  if (is_latest) {
    progress->last_attempt->response_time = now;
    progress->last_attempt->status = StatusOf(outcome);
  }
}

/// When the task is tried again after the failure of its only open attempt.
Time NextScheduleTime(const RetryConfig& retry, const TaskProgress& progress,
                      const OpenAttempt& failed, Duration retry_after, Time now) {
  const Duration interval = RetryInterval(retry, std::max(1, progress.dispatch_count));
  // Spec 3.6: the delay after RunTask counts from the call.
  const Time from = failed.is_forced ? failed.attempt.dispatch_time : now;
  return std::max({now, RetryTime(from, interval), RetryTime(now, retry_after)});
}

void AttemptFailed(MachineState& state, QueueRuntime& queue, Flight& flight, AttemptId id,
                   const OpenAttempt& failed, const AttemptOutcome& outcome, Time now) {
  const TaskBody& body = *flight.task.body;
  if (queue.IsExpired(body, now)) {
    EndTask(state, queue, flight.task, TaskEnd::kExpired, now);
    return;
  }
  TaskProgress progress = flight.task.progress;
  const bool is_app_engine = body.request.app_engine.has_value();
  RecordFailure(outcome, id == flight.latest, is_app_engine, now, &progress);
  if (state.limits.dead_letters_max > 0) Remember(failed, outcome, now, &progress.past);
  if (flight.open_attempts > 0) {
    // Another attempt goes on; what becomes of the task is up to that one.
    state.ledger.PutProgress(queue.incarnation(), flight.task, progress);
    flight.task.progress = std::move(progress);
    return;
  }
  const RetryConfig& retry = RetryConfigOf(body, queue.queue.config);
  if (IsExhausted(retry, progress, now)) {
    GiveUp(state, queue, flight.task, progress, now);
    return;
  }
  const Duration retry_after =
      state.limits.throttles ? RetryAfterOf(outcome, is_app_engine) : absl::ZeroDuration();
  progress.schedule_time = NextScheduleTime(retry, progress, failed, retry_after, now);
  LandForRetry(state, queue, flight.task, progress);
}

/// The queue's pace after an attempt of one of its tasks.
void AdaptPace(const MachineState& state, QueueRuntime& queue, const AttemptOutcome& outcome,
               bool is_app_engine, Time now) {
  if (!state.limits.throttles) return;
  if (IsOverloaded(outcome, is_app_engine)) {
    queue.throttle.Overloaded(queue.queue.config.rate.max_dispatches_per_second,
                              RetryAfterOf(outcome, is_app_engine), now);
  } else if (IsSuccess(outcome) && queue.throttle.is_slow()) {
    queue.throttle.Succeeded();
  } else {
    return;
  }
  ApplyPace(queue, now);
}

}  // namespace

bool IsSuccess(const AttemptOutcome& outcome) {
  return outcome.kind == AttemptOutcome::Kind::kResponse && outcome.http_status >= 200 &&
         outcome.http_status <= 299;
}

AttemptStatus StatusOf(const AttemptOutcome& outcome) {
  RpcCode code = kUnknown;
  std::string detail;
  switch (outcome.kind) {
    case AttemptOutcome::Kind::kResponse:
      code = CodeOfHttpStatus(outcome.http_status);
      detail = fmt::format("HTTP status {}", outcome.http_status);
      break;
    case AttemptOutcome::Kind::kTimedOut:
      code = kDeadlineExceeded;
      detail = "no response by the dispatch deadline";
      break;
    case AttemptOutcome::Kind::kConnectionFailed:
      code = kUnavailable;
      detail = "connection failed";
      break;
  }
  if (!outcome.message.empty()) detail += ": " + outcome.message;
  return AttemptStatus{.code = code.number,
                       .message = fmt::format("{}({}): {}", code.name, code.number, detail)};
}

void AttemptFinished(MachineState& state, AttemptId id, const AttemptOutcome& outcome, Time now) {
  const std::optional<OpenAttempt> finished = state.attempts.Close(id);
  if (!finished.has_value()) return;
  QueueRuntime* queue = state.catalogue.Find(finished->queue);
  if (queue == nullptr) return;
  --queue->open_attempts;
  if (outcome.kind == AttemptOutcome::Kind::kResponse) queue->executed.Add(now);

  // Without a flight the task ended while the attempt was open.
  if (const auto it = queue->flights.find(finished->sequence); it != queue->flights.end()) {
    Flight& flight = it->second;
    --flight.open_attempts;
    AdaptPace(state, *queue, outcome, flight.task.body->request.app_engine.has_value(), now);
    if (IsSuccess(outcome)) {
      EndTask(state, *queue, flight.task, TaskEnd::kDone, now);
    } else {
      AttemptFailed(state, *queue, flight, id, *finished, outcome, now);
    }
  }
  Replan(state, *queue);
}

}  // namespace sluice::core
