// SPDX-License-Identifier: Apache-2.0
#include "dispatch/request_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/http_headers.h"
#include "base/time.h"

namespace sluice::dispatch {
namespace {

// What a retry is told of an attempt that no outcome is known of, because the
// server ended between sending and the answer: the form of a failed connection.
constexpr std::int32_t kStatusOfLostAttempt = 503;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::string_view kUserAgent = "User-Agent";

// Spec 4.2: the same headers by two families of names, which tell some things differently.
struct Family {
  std::string_view queue_name;
  std::string_view task_name;
  std::string_view retry_count;
  std::string_view execution_count;
  std::string_view eta;
  std::string_view previous_response;
  std::string_view retry_reason;
};

constexpr Family kHttpFamily = {
    "X-CloudTasks-QueueName",          "X-CloudTasks-TaskName", "X-CloudTasks-TaskRetryCount",
    "X-CloudTasks-TaskExecutionCount", "X-CloudTasks-TaskETA",  "X-CloudTasks-TaskPreviousResponse",
    "X-CloudTasks-TaskRetryReason",
};
constexpr Family kAppEngineFamily = {
    "X-AppEngine-QueueName",          "X-AppEngine-TaskName", "X-AppEngine-TaskRetryCount",
    "X-AppEngine-TaskExecutionCount", "X-AppEngine-TaskETA",  "X-AppEngine-TaskPreviousResponse",
    "X-AppEngine-TaskRetryReason",
};

/// Unix seconds with exactly six decimals.
Status AddEta(std::string_view name, Time schedule_time, HeaderLines* headers) {
  const std::int64_t micros = std::max<std::int64_t>(ToMicros(schedule_time), 0);
  std::array<char, 32> text;
  const auto end = fmt::format_to_n(text.data(), text.size(), "{}.{:06}", micros / kMicrosPerSecond,
                                    micros % kMicrosPerSecond);
  return headers->Add(name, std::string_view(text.data(), end.size));
}

Status AddNumber(std::string_view name, std::int64_t number, HeaderLines* headers) {
  const fmt::format_int text(number);
  return headers->Add(name, std::string_view(text.data(), text.size()));
}

/// What a retry is told of the attempt before.
Status AddPrevious(const Family& family, const core::TaskProgress& progress, bool is_app_engine,
                   HeaderLines* headers) {
  if (is_app_engine) {
    const bool has_response = progress.previous_response != 0;
    SLUICE_RETURN_IF_ERROR(
        AddNumber(family.previous_response, progress.previous_response, headers));
    return headers->Add(family.retry_reason, has_response ? "App Error" : "Instance Unavailable");
  }
  const std::int32_t previous =
      progress.previous_response == 0 ? kStatusOfLostAttempt : progress.previous_response;
  SLUICE_RETURN_IF_ERROR(AddNumber(family.previous_response, previous, headers));
  return headers->Add(family.retry_reason, "");
}

const core::Header* Find(const std::vector<core::Header>& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [name](const auto& header) {
    return IsSameHeader(header.name, name);
  });
  return found == headers.end() ? nullptr : &*found;
}

/// The task's own headers under the queue's, without those of the service.
Status AddCallers(const std::vector<core::Header>& task, const std::vector<core::Header>& queue,
                  HeaderLines* headers) {
  for (const core::Header& header : task) {
    if (IsServiceHeader(header.name)) continue;
    const core::Header* replaced = queue.empty() ? nullptr : Find(queue, header.name);
    SLUICE_RETURN_IF_ERROR(
        headers->Add(header.name, replaced != nullptr ? replaced->value : header.value));
  }
  for (const core::Header& header : queue) {
    if (IsServiceHeader(header.name) || Find(task, header.name) != nullptr) continue;
    SLUICE_RETURN_IF_ERROR(headers->Add(header.name, header.value));
  }
  return {};
}

}  // namespace

Status AddAttemptHeaders(const core::StartAttempt& attempt, HeaderLines* headers) {
  const core::TaskProgress& progress = attempt.task.progress;
  const core::TaskBody& body = *attempt.task.body;
  const bool is_app_engine = body.request.app_engine.has_value();
  const Family& family = is_app_engine ? kAppEngineFamily : kHttpFamily;
  static const std::vector<core::Header> kNone;
  SLUICE_RETURN_IF_ERROR(AddCallers(
      body.request.headers, is_app_engine ? kNone : attempt.targets.http().headers, headers));
  // Stored with what the caller gave (spec 4.3).
  const core::Header* stored = is_app_engine ? Find(body.request.headers, kUserAgent) : nullptr;
  SLUICE_RETURN_IF_ERROR(headers->Add(
      kUserAgent, stored != nullptr ? std::string_view(stored->value) : kTaskUserAgent));
  SLUICE_RETURN_IF_ERROR(headers->Add(family.queue_name, attempt.queue.queue_id));
  SLUICE_RETURN_IF_ERROR(headers->Add(family.task_name, body.task_id));
  const std::int32_t retry_count = std::max(progress.dispatch_count - 1, 0);
  SLUICE_RETURN_IF_ERROR(AddNumber(family.retry_count, retry_count, headers));
  SLUICE_RETURN_IF_ERROR(
      AddNumber(family.execution_count,
                is_app_engine ? progress.response_count : progress.execution_count, headers));
  // The attempt's own record is the truth: the schedule of the task may already
  // be about what follows.
  const Time eta = progress.last_attempt.has_value() ? progress.last_attempt->schedule_time
                                                     : progress.schedule_time;
  SLUICE_RETURN_IF_ERROR(AddEta(family.eta, eta, headers));
  return retry_count == 0 ? Status() : AddPrevious(family, progress, is_app_engine, headers);
}

}  // namespace sluice::dispatch
