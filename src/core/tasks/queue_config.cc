// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/queue_config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/tasks/target_config.h"

namespace sluice::core {

namespace {

constexpr std::int32_t kDerivedBurstMin = 10;
// Spec 1.6, VQ11; an operator who allows higher rates gets what they derive.
constexpr std::int32_t kBurstMax = 500;

constexpr Duration kTaskTtlMin = absl::Hours(24 * 10);
constexpr Duration kTaskTtlMax = absl::Hours(24 * 3653);  // ten years, with leap days
constexpr Duration kTombstoneTtlMin = absl::Hours(1);
constexpr Duration kTombstoneTtlMax = absl::Hours(24 * 9);

std::string Show(Duration d) { return absl::FormatDuration(d); }

Duration FloorToMicros(Duration d) { return DurationFromMicros(ToMicros(d)); }

std::int32_t BurstMax(const TaskLimits& limits) {
  return std::max(kBurstMax, DerivedBurst(limits.dispatches_per_second_max, limits));
}

Status CheckRateLimits(std::string_view owner, const RateLimits& rate, const TaskLimits& limits) {
  // Written so that a NaN fails.
  if (!(rate.max_dispatches_per_second > 0 &&
        rate.max_dispatches_per_second <= limits.dispatches_per_second_max)) {
    return InvalidArgument("{}: rate_limits.max_dispatches_per_second must be in [0, {}], got {}",
                           owner, limits.dispatches_per_second_max, rate.max_dispatches_per_second);
  }
  if (rate.max_burst_size < 1 || rate.max_burst_size > BurstMax(limits)) {
    return InvalidArgument("{}: rate_limits.max_burst_size must be in [0, {}], got {}", owner,
                           BurstMax(limits), rate.max_burst_size);
  }
  if (rate.max_concurrent_dispatches < 1 ||
      rate.max_concurrent_dispatches > limits.concurrent_dispatches_max) {
    return InvalidArgument("{}: rate_limits.max_concurrent_dispatches must be in [0, {}], got {}",
                           owner, limits.concurrent_dispatches_max, rate.max_concurrent_dispatches);
  }
  return absl::OkStatus();
}

Status CheckDuration(std::string_view owner, std::string_view field, Duration value, Duration min,
                     Duration max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidArgument("{}: {} must be in [{}, {}], got {}", owner, field, Show(min), Show(max),
                         Show(value));
}

void MergeRateLimits(const QueuePatch& patch, const TaskLimits& limits, bool is_new,
                     RateLimits* rate) {
  const RateLimits defaults = DefaultQueueConfig(limits).rate;
  if (patch.max_dispatches_per_second.has_value()) {
    rate->max_dispatches_per_second = *patch.max_dispatches_per_second != 0
                                          ? *patch.max_dispatches_per_second
                                          : defaults.max_dispatches_per_second;
  }
  if (patch.max_concurrent_dispatches.has_value()) {
    rate->max_concurrent_dispatches = *patch.max_concurrent_dispatches != 0
                                          ? *patch.max_concurrent_dispatches
                                          : defaults.max_concurrent_dispatches;
  }
  const bool is_derived = patch.max_burst_size.has_value()
                              ? *patch.max_burst_size == 0
                              : is_new || patch.max_dispatches_per_second.has_value();
  if (is_derived) {
    rate->max_burst_size = DerivedBurst(rate->max_dispatches_per_second, limits);
  } else if (patch.max_burst_size.has_value()) {
    rate->max_burst_size = *patch.max_burst_size;
  }
}

void MergeRetryConfig(const QueuePatch& patch, RetryConfig* retry) {
  if (patch.max_attempts.has_value()) retry->max_attempts = *patch.max_attempts;
  if (patch.max_retry_duration.has_value()) retry->max_retry_duration = *patch.max_retry_duration;
  if (patch.min_backoff.has_value()) retry->min_backoff = *patch.min_backoff;
  if (patch.max_backoff.has_value()) retry->max_backoff = *patch.max_backoff;
  if (patch.max_doublings.has_value()) retry->max_doublings = *patch.max_doublings;
}

}  // namespace

std::int32_t DerivedBurst(double dispatches_per_second, const TaskLimits& limits) {
  constexpr double kMax = 1e9;
  // A rate that is not a number is refused after merging; here it must only not
  // be converted.
  if (!(dispatches_per_second > 0)) return kDerivedBurstMin;
  const double span = absl::ToDoubleSeconds(limits.derived_burst_span);
  const double burst = std::ceil(std::min(dispatches_per_second * span, kMax));
  return std::max(kDerivedBurstMin, static_cast<std::int32_t>(burst));
}

QueueConfig DefaultQueueConfig(const TaskLimits& limits) {
  QueueConfig config;
  config.rate.max_dispatches_per_second =
      std::min(config.rate.max_dispatches_per_second, limits.dispatches_per_second_max);
  config.rate.max_burst_size = DerivedBurst(config.rate.max_dispatches_per_second, limits);
  config.tombstone_ttl = limits.tombstone_ttl_default;
  config.rate.max_concurrent_dispatches =
      std::min(config.rate.max_concurrent_dispatches, limits.concurrent_dispatches_max);
  return config;
}

StatusOr<RetryConfig> CheckedRetryConfig(std::string_view owner, RetryConfig retry) {
  if (retry.max_attempts == 0) retry.max_attempts = RetryConfig{}.max_attempts;
  retry.max_retry_duration = FloorToMicros(retry.max_retry_duration);
  retry.min_backoff = FloorToMicros(retry.min_backoff);
  retry.max_backoff = FloorToMicros(retry.max_backoff);

  if (retry.max_attempts < -1) {
    return InvalidArgument("{}: retry_config.max_attempts must be -1 (no limit) or more, got {}",
                           owner, retry.max_attempts);
  }
  if (retry.max_doublings < 0) {
    return InvalidArgument("{}: retry_config.max_doublings must not be negative, got {}", owner,
                           retry.max_doublings);
  }
  if (retry.min_backoff < absl::ZeroDuration()) {
    return InvalidArgument("{}: retry_config.min_backoff must not be negative, got {}", owner,
                           Show(retry.min_backoff));
  }
  if (retry.max_backoff < absl::ZeroDuration()) {
    return InvalidArgument("{}: retry_config.max_backoff must not be negative, got {}", owner,
                           Show(retry.max_backoff));
  }
  if (retry.max_retry_duration < absl::ZeroDuration()) {
    return InvalidArgument("{}: retry_config.max_retry_duration must not be negative, got {}",
                           owner, Show(retry.max_retry_duration));
  }
  if (retry.min_backoff > retry.max_backoff) {
    return InvalidArgument(
        "{}: retry_config.min_backoff {} must not exceed retry_config.max_backoff {}", owner,
        Show(retry.min_backoff), Show(retry.max_backoff));
  }
  return retry;
}

StatusOr<QueueConfig> MergeQueueConfig(const QueueName& queue, const QueueConfig& base,
                                       const QueuePatch& patch, const TaskLimits& limits,
                                       bool is_new) {
  const std::string owner = fmt::format("queue {}", queue.ToString());
  QueueConfig config = base;
  MergeRateLimits(patch, limits, is_new, &config.rate);
  SLUICE_RETURN_IF_ERROR(CheckRateLimits(owner, config.rate, limits));

  MergeRetryConfig(patch, &config.retry);
  SLUICE_ASSIGN_OR_RETURN(config.retry, CheckedRetryConfig(owner, config.retry));

  if (patch.log_sampling_ratio.has_value()) config.log_sampling_ratio = *patch.log_sampling_ratio;
  if (!(config.log_sampling_ratio >= 0 && config.log_sampling_ratio <= 1)) {
    return InvalidArgument(
        "{}: stackdriver_logging_config.sampling_ratio must be in [0, 1], got {}", owner,
        config.log_sampling_ratio);
  }
  if (patch.task_ttl.has_value()) config.task_ttl = FloorToMicros(*patch.task_ttl);
  SLUICE_RETURN_IF_ERROR(
      CheckDuration(owner, "task_ttl", config.task_ttl, kTaskTtlMin, kTaskTtlMax));
  if (patch.tombstone_ttl.has_value()) {
    config.tombstone_ttl = *patch.tombstone_ttl != absl::ZeroDuration()
                               ? FloorToMicros(*patch.tombstone_ttl)
                               : limits.tombstone_ttl_default;
  }
  SLUICE_RETURN_IF_ERROR(CheckDuration(owner, "tombstone_ttl", config.tombstone_ttl,
                                       kTombstoneTtlMin, kTombstoneTtlMax));
  if (patch.targets != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(config.targets,
                            MergeTargets(owner, queue.location, config.targets, *patch.targets));
  }
  return config;
}

}  // namespace sluice::core
