// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/queue_codec.h"

#include <cmath>
#include <optional>
#include <string>

#include "front/errors.h"
#include "front/tasks/target_codec.h"
#include "front/tasks/time_codec.h"

namespace sluice::front {
namespace {

// How a span is kept (spec 2.1): the documents say whole seconds for all three,
// the service's own default of 0.1 s says otherwise for the intervals.
enum class Precision { kMicros, kSeconds };

Duration Truncate(Duration span, Precision precision) {
  return absl::Trunc(span,
                     precision == Precision::kMicros ? absl::Microseconds(1) : absl::Seconds(1));
}

// Nothing when the field is unset or zero, which mean the same to this API.
// Errors: INVALID_ARGUMENT for a negative span.
StatusOr<std::optional<Duration>> ReadSpan(bool is_set, const google::protobuf::Duration& in,
                                           Precision precision, std::string_view field) {
  if (!is_set) return std::optional<Duration>();
  SLUICE_ASSIGN_OR_RETURN(const Duration span, DecodeSpan(in, field));
  if (span < absl::ZeroDuration()) {
    return AtField(field, InvalidArgument("{} is {}; it cannot be negative", field,
                                          absl::FormatDuration(span)));
  }
  const Duration kept = Truncate(span, precision);
  return kept == absl::ZeroDuration() ? std::optional<Duration>() : kept;
}

struct RetrySpans {
  std::optional<Duration> max_retry_duration;
  std::optional<Duration> min_backoff;
  std::optional<Duration> max_backoff;
};

template <typename RetryConfig>
StatusOr<RetrySpans> ReadSpans(const RetryConfig& in, std::string_view parent) {
  const auto path = [parent](std::string_view leaf) { return fmt::format("{}.{}", parent, leaf); };
  RetrySpans spans;
  SLUICE_ASSIGN_OR_RETURN(spans.max_retry_duration,
                          ReadSpan(in.has_max_retry_duration(), in.max_retry_duration(),
                                   Precision::kSeconds, path("max_retry_duration")));
  SLUICE_ASSIGN_OR_RETURN(spans.min_backoff, ReadSpan(in.has_min_backoff(), in.min_backoff(),
                                                      Precision::kMicros, path("min_backoff")));
  SLUICE_ASSIGN_OR_RETURN(spans.max_backoff, ReadSpan(in.has_max_backoff(), in.max_backoff(),
                                                      Precision::kMicros, path("max_backoff")));
  return spans;
}

// Pull queues are not built (spec 2.13).
Status CheckType(tasks_v2beta3::Queue::Type type) {
  constexpr std::string_view kField = "queue.type";
  if (!tasks_v2beta3::Queue::Type_IsValid(type)) {
    return AtField(kField, InvalidArgument("{}: {} names no type", kField, static_cast<int>(type)));
  }
  if (type != tasks_v2beta3::Queue::PULL) return absl::OkStatus();
  return AtField(kField, Unimplemented("{} is PULL; this server has PUSH queues only", kField));
}

template <typename T>
T OrDefault(T value, T unset_default) {
  return value == T{} ? unset_default : value;
}

// The settings that only v2beta3 knows; an update by v2 leaves them alone (spec 2.7).
Status DecodeBetaSettings(const tasks_v2beta3::Queue& queue, const FieldSelection& selection,
                          core::QueuePatch* patch) {
  static const core::QueueConfig kDefaults;
  if (selection.Includes("type")) SLUICE_RETURN_IF_ERROR(CheckType(queue.type()));
  if (selection.Includes("rate_limits.max_burst_size")) {
    patch->max_burst_size = queue.rate_limits().max_burst_size();
  }
  if (selection.Includes("task_ttl")) {
    SLUICE_ASSIGN_OR_RETURN(
        const std::optional<Duration> ttl,
        ReadSpan(queue.has_task_ttl(), queue.task_ttl(), Precision::kMicros, "queue.task_ttl"));
    patch->task_ttl = ttl.value_or(kDefaults.task_ttl);
  }
  if (selection.Includes("tombstone_ttl")) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Duration> ttl,
                            ReadSpan(queue.has_tombstone_ttl(), queue.tombstone_ttl(),
                                     Precision::kMicros, "queue.tombstone_ttl"));
    // Zero stands for the server's own default.
    patch->tombstone_ttl = ttl.value_or(absl::ZeroDuration());
  }
  return absl::OkStatus();
}

}  // namespace

template <typename Queue>
StatusOr<core::QueuePatch> DecodeQueueSettings(const Queue& queue,
                                               const FieldSelection& selection) {
  static const core::QueueConfig kDefaults;
  core::QueuePatch patch;
  SLUICE_ASSIGN_OR_RETURN(patch.targets, DecodeQueueTargets(queue, selection));

  const auto& rate = queue.rate_limits();
  if (selection.Includes("rate_limits.max_dispatches_per_second")) {
    if (!std::isfinite(rate.max_dispatches_per_second())) {
      return AtField("queue.rate_limits.max_dispatches_per_second",
                     InvalidArgument("queue.rate_limits.max_dispatches_per_second is {}; it must "
                                     "be a finite number",
                                     rate.max_dispatches_per_second()));
    }
    patch.max_dispatches_per_second =
        OrDefault(rate.max_dispatches_per_second(), kDefaults.rate.max_dispatches_per_second);
  }
  if (selection.Includes("rate_limits.max_concurrent_dispatches")) {
    patch.max_concurrent_dispatches =
        OrDefault(rate.max_concurrent_dispatches(), kDefaults.rate.max_concurrent_dispatches);
  }

  const auto& retry = queue.retry_config();
  if (selection.Touches("retry_config")) {
    SLUICE_ASSIGN_OR_RETURN(const RetrySpans spans, ReadSpans(retry, "queue.retry_config"));
    if (selection.Includes("retry_config.max_attempts")) {
      patch.max_attempts = OrDefault(retry.max_attempts(), kDefaults.retry.max_attempts);
    }
    if (selection.Includes("retry_config.max_retry_duration")) {
      patch.max_retry_duration =
          spans.max_retry_duration.value_or(kDefaults.retry.max_retry_duration);
    }
    if (selection.Includes("retry_config.min_backoff")) {
      patch.min_backoff = spans.min_backoff.value_or(kDefaults.retry.min_backoff);
    }
    if (selection.Includes("retry_config.max_backoff")) {
      patch.max_backoff = spans.max_backoff.value_or(kDefaults.retry.max_backoff);
    }
    if (selection.Includes("retry_config.max_doublings")) {
      patch.max_doublings = OrDefault(retry.max_doublings(), kDefaults.retry.max_doublings);
    }
  }

  if (selection.Includes("stackdriver_logging_config.sampling_ratio")) {
    const double ratio = queue.stackdriver_logging_config().sampling_ratio();
    if (!(ratio >= 0 && ratio <= 1)) {
      return AtField("queue.stackdriver_logging_config.sampling_ratio",
                     InvalidArgument("queue.stackdriver_logging_config.sampling_ratio is {}; "
                                     "allowed are 0 to 1",
                                     ratio));
    }
    patch.log_sampling_ratio = ratio;
  }
  if constexpr (kIsBeta<Queue>) {
    SLUICE_RETURN_IF_ERROR(DecodeBetaSettings(queue, selection, &patch));
  }
  return patch;
}

template <typename Queue>
void EncodeQueue(const core::Queue& queue, Queue* out) {
  out->set_name(queue.name.ToString());
  auto* rate = out->mutable_rate_limits();
  rate->set_max_dispatches_per_second(queue.config.rate.max_dispatches_per_second);
  rate->set_max_burst_size(queue.config.rate.max_burst_size);
  rate->set_max_concurrent_dispatches(queue.config.rate.max_concurrent_dispatches);
  EncodeRetry(queue.config.retry, out->mutable_retry_config());
  // Ours are numbered as the API's.
  out->set_state(static_cast<typename Queue::State>(queue.state));
  if (queue.purge_time) EncodeTime(*queue.purge_time, out->mutable_purge_time());
  if (queue.config.log_sampling_ratio != 0) {
    out->mutable_stackdriver_logging_config()->set_sampling_ratio(queue.config.log_sampling_ratio);
  }
  EncodeQueueTargets(queue.config.targets, out);
  if constexpr (kIsBeta<Queue>) {
    out->set_type(Queue::PUSH);
    EncodeSpan(queue.config.task_ttl, out->mutable_task_ttl());
    EncodeSpan(queue.config.tombstone_ttl, out->mutable_tombstone_ttl());
  }
}

template <typename Queue>
void EncodeQueueStats(const core::QueueStats& stats, Queue* out) {
  if constexpr (kIsBeta<Queue>) {
    auto* shown = out->mutable_stats();
    shown->set_tasks_count(static_cast<std::int64_t>(stats.task_count));
    if (stats.next_schedule_time) {
      EncodeTime(*stats.next_schedule_time, shown->mutable_oldest_estimated_arrival_time());
    }
    shown->set_executed_last_minute_count(static_cast<std::int64_t>(stats.executed_last_minute));
    shown->set_concurrent_dispatches_count(stats.in_flight);
    shown->set_effective_execution_rate(stats.effective_rate);
  }
}

template <typename RetryConfig>
StatusOr<core::RetryConfig> DecodeTaskRetry(const RetryConfig& in,
                                            const core::RetryConfig& defaults,
                                            std::string_view field) {
  const auto path = [field](std::string_view leaf) { return fmt::format("{}.{}", field, leaf); };
  if (in.max_attempts() < -1) {
    return AtField(path("max_attempts"),
                   InvalidArgument("{}.max_attempts is {}; the least is -1, for no limit", field,
                                   in.max_attempts()));
  }
  if (in.max_doublings() < 0) {
    return AtField(path("max_doublings"), InvalidArgument("{}.max_doublings is {}; it cannot be "
                                                          "negative",
                                                          field, in.max_doublings()));
  }
  SLUICE_ASSIGN_OR_RETURN(const RetrySpans spans, ReadSpans(in, field));
  core::RetryConfig retry;
  retry.max_attempts = OrDefault(in.max_attempts(), defaults.max_attempts);
  retry.max_doublings = OrDefault(in.max_doublings(), defaults.max_doublings);
  retry.max_retry_duration = spans.max_retry_duration.value_or(defaults.max_retry_duration);
  retry.min_backoff = spans.min_backoff.value_or(defaults.min_backoff);
  retry.max_backoff = spans.max_backoff.value_or(defaults.max_backoff);
  if (retry.min_backoff > retry.max_backoff) {
    return AtField(path("min_backoff"),
                   InvalidArgument("{}.min_backoff is {}; it must not exceed max_backoff, which is "
                                   "{}",
                                   field, absl::FormatDuration(retry.min_backoff),
                                   absl::FormatDuration(retry.max_backoff)));
  }
  return retry;
}

template <typename RetryConfig>
bool LeavesRetryOpen(const RetryConfig& in) {
  return in.max_attempts() == 0 || in.max_doublings() == 0 || !in.has_max_retry_duration() ||
         !in.has_min_backoff() || !in.has_max_backoff() ||
         in.max_retry_duration().ByteSizeLong() == 0 || in.min_backoff().ByteSizeLong() == 0 ||
         in.max_backoff().ByteSizeLong() == 0;
}

template <typename RetryConfig>
void EncodeRetry(const core::RetryConfig& retry, RetryConfig* out) {
  out->set_max_attempts(retry.max_attempts);
  // Zero stands for no limit, which this API shows as an absent field.
  if (retry.max_retry_duration != absl::ZeroDuration()) {
    EncodeSpan(retry.max_retry_duration, out->mutable_max_retry_duration());
  }
  EncodeSpan(retry.min_backoff, out->mutable_min_backoff());
  EncodeSpan(retry.max_backoff, out->mutable_max_backoff());
  out->set_max_doublings(retry.max_doublings);
}

template StatusOr<core::QueuePatch> DecodeQueueSettings(const tasks_v2::Queue&,
                                                        const FieldSelection&);
template void EncodeQueue(const core::Queue&, tasks_v2::Queue*);
template void EncodeQueueStats(const core::QueueStats&, tasks_v2::Queue*);
template StatusOr<core::RetryConfig> DecodeTaskRetry(const tasks_v2::RetryConfig&,
                                                     const core::RetryConfig&, std::string_view);
template bool LeavesRetryOpen(const tasks_v2::RetryConfig&);
template void EncodeRetry(const core::RetryConfig&, tasks_v2::RetryConfig*);

template StatusOr<core::QueuePatch> DecodeQueueSettings(const tasks_v2beta3::Queue&,
                                                        const FieldSelection&);
template void EncodeQueue(const core::Queue&, tasks_v2beta3::Queue*);
template void EncodeQueueStats(const core::QueueStats&, tasks_v2beta3::Queue*);
template StatusOr<core::RetryConfig> DecodeTaskRetry(const tasks_v2beta3::RetryConfig&,
                                                     const core::RetryConfig&, std::string_view);
template bool LeavesRetryOpen(const tasks_v2beta3::RetryConfig&);
template void EncodeRetry(const core::RetryConfig&, tasks_v2beta3::RetryConfig*);

}  // namespace sluice::front
