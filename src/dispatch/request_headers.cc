// SPDX-License-Identifier: Apache-2.0
#include "dispatch/request_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/http_headers.h"
#include "base/time.h"

namespace sluice::dispatch {
namespace {

// What a retry is told of an attempt that no outcome is known of, because the
// server ended between sending and the answer: the form of a failed connection.
constexpr std::int32_t kStatusOfLostAttempt = 503;

constexpr std::int64_t kMicrosPerSecond = 1'000'000;

/// Unix seconds with exactly six decimals.
Status AddEta(Time schedule_time, HeaderLines* headers) {
  const std::int64_t micros = std::max<std::int64_t>(ToMicros(schedule_time), 0);
  std::array<char, 32> text;
  const auto end = fmt::format_to_n(text.data(), text.size(), "{}.{:06}", micros / kMicrosPerSecond,
                                    micros % kMicrosPerSecond);
  return headers->Add("X-CloudTasks-TaskETA", std::string_view(text.data(), end.size));
}

Status AddNumber(std::string_view name, std::int64_t number, HeaderLines* headers) {
  const fmt::format_int text(number);
  return headers->Add(name, std::string_view(text.data(), text.size()));
}

}  // namespace

Status AddAttemptHeaders(const QueueName& queue, const core::Task& task, HeaderLines* headers) {
  const core::TaskProgress& progress = task.progress;
  for (const core::Header& header : task.body->request.headers) {
    if (IsServiceHeader(header.name)) continue;
    SLUICE_RETURN_IF_ERROR(headers->Add(header.name, header.value));
  }
  SLUICE_RETURN_IF_ERROR(headers->Add("User-Agent", kTaskUserAgent));
  SLUICE_RETURN_IF_ERROR(headers->Add("X-CloudTasks-QueueName", queue.queue_id));
  SLUICE_RETURN_IF_ERROR(headers->Add("X-CloudTasks-TaskName", task.body->task_id));
  const std::int32_t retry_count = std::max(progress.dispatch_count - 1, 0);
  SLUICE_RETURN_IF_ERROR(AddNumber("X-CloudTasks-TaskRetryCount", retry_count, headers));
  SLUICE_RETURN_IF_ERROR(
      AddNumber("X-CloudTasks-TaskExecutionCount", progress.execution_count, headers));
  // The attempt's own record is the truth: the schedule of the task may already
  // be about what follows.
  const Time eta = progress.last_attempt.has_value() ? progress.last_attempt->schedule_time
                                                     : progress.schedule_time;
  SLUICE_RETURN_IF_ERROR(AddEta(eta, headers));
  if (retry_count == 0) return {};
  const std::int32_t previous =
      progress.previous_response == 0 ? kStatusOfLostAttempt : progress.previous_response;
  SLUICE_RETURN_IF_ERROR(AddNumber("X-CloudTasks-TaskPreviousResponse", previous, headers));
  return headers->Add("X-CloudTasks-TaskRetryReason", "");
}

}  // namespace sluice::dispatch
