// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/retry.h"

#include <algorithm>

#include "base/status.h"

namespace sluice::core {

namespace {

// 9999-12-31T23:59:59Z, the end of protobuf's Timestamp.
constexpr std::int64_t kLatestSeconds = 253'402'300'799;

// Doubling a microsecond this often gives more than a hundred thousand years.
constexpr std::int32_t kDoublingsMax = 62;

}  // namespace

Duration RetryInterval(const RetryConfig& config, std::int32_t failed_attempts) {
  SLUICE_CHECK(failed_attempts >= 1, "no attempt failed");
  const std::int32_t retry = failed_attempts;
  const std::int32_t doublings = std::min({retry - 1, config.max_doublings, kDoublingsMax});
  // absl's durations saturate when multiplied.
  Duration interval = config.min_backoff * (std::int64_t{1} << doublings);
  if (retry - 1 > config.max_doublings) {
    interval *= std::int64_t{retry} - config.max_doublings;
  }
  return std::min(interval, config.max_backoff);
}

Time RetryTime(Time from, Duration interval) {
  return FloorToMicros(std::min(from + interval, absl::FromUnixSeconds(kLatestSeconds)));
}

bool IsExhausted(const RetryConfig& config, const TaskProgress& progress, Time now) {
  const bool has_count_limit = config.max_attempts >= 0;
  const bool has_time_limit = config.max_retry_duration > absl::ZeroDuration();
  if (!has_count_limit && !has_time_limit) return false;
  if (!progress.first_dispatch_time.has_value()) return false;
  if (has_count_limit && progress.dispatch_count < config.max_attempts) return false;
  return !has_time_limit || now - *progress.first_dispatch_time >= config.max_retry_duration;
}

const RetryConfig& RetryConfigOf(const TaskBody& body, const QueueConfig& queue) {
  return body.retry.has_value() ? *body.retry : queue.retry;
}

}  // namespace sluice::core
