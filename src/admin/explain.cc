// SPDX-License-Identifier: Apache-2.0
#include "admin/explain.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "admin/value_text.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;
using Reason = core::Wait::Reason;

std::string_view NameOf(Reason reason) {
  switch (reason) {
    case Reason::kScheduled:
      return "SCHEDULED";
    case Reason::kBackoff:
      return "BACKOFF";
    case Reason::kQueuePaused:
      return "QUEUE_PAUSED";
    case Reason::kQueueDisabled:
      return "QUEUE_DISABLED";
    case Reason::kRate:
      return "RATE";
    case Reason::kThrottled:
      return "THROTTLED";
    case Reason::kConcurrency:
      return "CONCURRENCY";
    case Reason::kServerCapacity:
      return "SERVER_CAPACITY";
    case Reason::kInFlight:
      return "IN_FLIGHT";
    case Reason::kBehind:
      return "BEHIND";
    case Reason::kLoading:
      return "LOADING";
  }
  return "UNKNOWN";
}

/// `2030-01-31T10:00:00Z (in 5m10s)`
std::string Moment(const std::optional<Time>& until, Time now) {
  if (!until.has_value()) return "a time not known yet";
  if (*until <= now) return fmt::format("{} (now)", InstantText(*until));
  return fmt::format("{} (in {})", InstantText(*until), absl::FormatDuration(*until - now));
}

Json AttemptToJson(const core::Attempt& attempt) {
  Json json = {{"schedule_time", InstantText(attempt.schedule_time)},
               {"dispatch_time", InstantText(attempt.dispatch_time)}};
  if (attempt.response_time.has_value()) {
    json["response_time"] = InstantText(*attempt.response_time);
    json["response_status"] = {{"code", attempt.status.code}, {"message", attempt.status.message}};
  }
  return json;
}

}  // namespace

std::string WaitSentence(const core::Wait& wait, const std::string& queue, Time now) {
  switch (wait.reason) {
    case Reason::kScheduled:
      return fmt::format("waiting for its schedule time {}", Moment(wait.until, now));
    case Reason::kBackoff:
      return fmt::format("its last attempt failed; the next one is due at {}",
                         Moment(wait.until, now));
    case Reason::kQueuePaused:
      return fmt::format("{} is paused; it goes on when somebody resumes the queue", queue);
    case Reason::kQueueDisabled:
      return fmt::format("{} is disabled", queue);
    case Reason::kRate:
      return fmt::format(
          "{} sends as fast as max_dispatches_per_second allows; its next attempt "
          "may leave at {}",
          queue, Moment(wait.until, now));
    case Reason::kThrottled:
      return fmt::format(
          "{} holds back because its target answered 429 or 503; its next attempt may leave "
          "at {}",
          queue, Moment(wait.until, now));
    case Reason::kConcurrency:
      return fmt::format(
          "{} has as many attempts under way as max_concurrent_dispatches allows; "
          "one of them must finish first",
          queue);
    case Reason::kServerCapacity:
      return "this server has as many attempts under way as limits.in_flight_max and "
             "limits.in_flight_bytes_max allow; one of them must finish first";
    case Reason::kInFlight:
      return wait.until.has_value()
                 ? fmt::format("an attempt is under way; its target has time until {}",
                               Moment(wait.until, now))
                 : "an attempt is under way";
    case Reason::kBehind:
      return fmt::format("earlier tasks of {} go first", queue);
    case Reason::kLoading:
      return "the task is being read from disk";
  }
  return "";
}

Json ExplanationToJson(const TaskName& name, const core::Explanation& explanation, Time now) {
  const core::TaskProgress& progress = explanation.task.progress;
  const std::string queue = name.queue.ToString();
  Json json = {{"name", name.ToString()},
               {"now", InstantText(now)},
               {"schedule_time", InstantText(progress.schedule_time)},
               {"dispatch_count", progress.dispatch_count},
               {"response_count", progress.response_count},
               {"waits", Json::array()}};
  if (explanation.task.body != nullptr) {
    json["create_time"] = InstantText(explanation.task.body->create_time);
    json["dispatch_deadline"] = SpanText(explanation.task.body->dispatch_deadline);
  }
  if (progress.first_dispatch_time.has_value()) {
    json["first_dispatch_time"] = InstantText(*progress.first_dispatch_time);
  }
  if (progress.last_attempt.has_value()) {
    json["last_attempt"] = AttemptToJson(*progress.last_attempt);
  }
  for (const core::Wait& wait : explanation.waits) {
    Json entry = {{"reason", NameOf(wait.reason)}, {"text", WaitSentence(wait, queue, now)}};
    if (wait.until.has_value()) entry["until"] = InstantText(*wait.until);
    json["waits"].push_back(std::move(entry));
  }
  json["summary"] = explanation.waits.empty()
                        ? std::string("nothing holds the task back; it is about to be sent")
                        : WaitSentence(explanation.waits.front(), queue, now);
  return json;
}

}  // namespace sluice::admin
