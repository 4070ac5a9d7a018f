// SPDX-License-Identifier: Apache-2.0
#pragma once

// The knobs of the writers. A value of either type is always valid: the builders
// keep the first refusal and `Build` returns it.
//
// Threading: values. Durations of WriterOptions are whole milliseconds (the rest is cut off).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sluice/sink/retry_schedule.h"

namespace sluice::sink {

enum class DeliveryGuarantee { kAtLeastOnce, kExactlyOnce };
/// What happens to a staged task at or after the end of its authorization.
enum class ExpiredEnvelopePolicy { kFail, kAssumeCommitted, kCreateAnyway, kDrop };

/// `at-least-once`, `exactly-once`; `fail`, `assume-committed`, `create-anyway`, `drop`.
[[nodiscard]] std::string_view ToString(DeliveryGuarantee guarantee);
[[nodiscard]] std::string_view ToString(ExpiredEnvelopePolicy policy);
[[nodiscard]] StatusOr<DeliveryGuarantee> ParseDeliveryGuarantee(std::string_view text);
[[nodiscard]] StatusOr<ExpiredEnvelopePolicy> ParseExpiredEnvelopePolicy(std::string_view text);

class WriterOptions {
 public:
  class Builder;
  using Milliseconds = std::chrono::milliseconds;

  /// Eager: in-flight plus parked creates of one writer. Staged: envelopes one commit
  /// holds active.
  [[nodiscard]] int max_in_flight_tasks() const { return max_in_flight_tasks_; }
  /// Static number of channels; unset is the client's own default of one.
  [[nodiscard]] std::optional<int> channel_pool_size() const { return channel_pool_size_; }
  [[nodiscard]] Milliseconds recovery_initial_backoff() const { return recovery_initial_; }
  [[nodiscard]] Milliseconds recovery_max_backoff() const { return recovery_max_; }
  [[nodiscard]] int recovery_max_attempts() const { return recovery_attempts_; }
  [[nodiscard]] Milliseconds not_found_recovery_initial_backoff() const {
    return not_found_initial_;
  }
  [[nodiscard]] Milliseconds not_found_recovery_max_backoff() const { return not_found_max_; }
  [[nodiscard]] int not_found_recovery_max_attempts() const { return not_found_attempts_; }
  [[nodiscard]] bool per_destination_metrics() const { return per_destination_metrics_; }

  [[nodiscard]] RetrySchedule transient_schedule() const {
    return {recovery_initial_, recovery_max_, recovery_attempts_};
  }
  [[nodiscard]] RetrySchedule not_found_schedule() const {
    return {not_found_initial_, not_found_max_, not_found_attempts_};
  }
  /// All nine, the in-flight bound first.
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const WriterOptions&, const WriterOptions&) = default;

 private:
  int max_in_flight_tasks_ = 1000;
  std::optional<int> channel_pool_size_;
  Milliseconds recovery_initial_{100};
  Milliseconds recovery_max_{10'000};
  int recovery_attempts_ = 8;
  Milliseconds not_found_initial_{500};
  Milliseconds not_found_max_{2'000};
  int not_found_attempts_ = 3;
  bool per_destination_metrics_ = false;
};

class WriterOptions::Builder {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  Builder& set_max_in_flight_tasks(int value);
  Builder& set_channel_pool_size(int value);
  Builder& set_recovery_initial_backoff(Nanoseconds value);
  Builder& set_recovery_max_backoff(Nanoseconds value);
  Builder& set_recovery_max_attempts(int value);
  Builder& set_not_found_recovery_initial_backoff(Nanoseconds value);
  Builder& set_not_found_recovery_max_backoff(Nanoseconds value);
  Builder& set_not_found_recovery_max_attempts(int value);
  Builder& set_per_destination_metrics(bool value);
  /// The first refused value, or the pairwise checks; equal backoffs are fine.
  [[nodiscard]] StatusOr<WriterOptions> Build() const;

 private:
  void Positive(std::string_view name, std::int64_t value);
  Milliseconds WholeMillis(std::string_view name, Nanoseconds value);

  WriterOptions options_;
  Status refused_;
};

class StagedOptions {
 public:
  class Builder;
  using Nanoseconds = std::chrono::nanoseconds;

  /// How long the queue is promised to keep a name occupied after its task is gone.
  [[nodiscard]] Nanoseconds name_retention() const { return name_retention_; }
  [[nodiscard]] Nanoseconds clock_skew_allowance() const { return clock_skew_allowance_; }
  /// Deadline of one create and of the retention read, and a term of the window.
  [[nodiscard]] Nanoseconds request_timeout() const { return request_timeout_; }
  [[nodiscard]] int max_staged_tasks() const { return max_staged_tasks_; }
  [[nodiscard]] std::int64_t max_staged_bytes() const { return max_staged_bytes_; }
  [[nodiscard]] bool verify_queue_retention() const { return verify_queue_retention_; }
  [[nodiscard]] ExpiredEnvelopePolicy expired_envelope_policy() const { return policy_; }

  /// Retention less skew less timeout, in whole milliseconds (rounded down); at least one.
  [[nodiscard]] std::int64_t window_millis() const;
  /// `origin` plus the window; OUT_OF_RANGE when that is no 64-bit number.
  [[nodiscard]] StatusOr<std::int64_t> DeadlineMillis(std::int64_t origin_millis) const;
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const StagedOptions&, const StagedOptions&) = default;

 private:
  Nanoseconds name_retention_ = std::chrono::hours(1);
  Nanoseconds clock_skew_allowance_ = std::chrono::minutes(5);
  Nanoseconds request_timeout_ = std::chrono::seconds(20);
  int max_staged_tasks_ = 100'000;
  std::int64_t max_staged_bytes_ = 64 << 20;
  bool verify_queue_retention_ = true;
  ExpiredEnvelopePolicy policy_ = ExpiredEnvelopePolicy::kFail;
};

class StagedOptions::Builder {
 public:
  Builder& set_name_retention(Nanoseconds value);
  Builder& set_clock_skew_allowance(Nanoseconds value);
  Builder& set_request_timeout(Nanoseconds value);
  Builder& set_max_staged_tasks(int value);
  Builder& set_max_staged_bytes(std::int64_t value);
  Builder& set_verify_queue_retention(bool value);
  Builder& set_expired_envelope_policy(ExpiredEnvelopePolicy value);
  [[nodiscard]] StatusOr<StagedOptions> Build() const;

 private:
  void Require(bool holds, std::string_view name, std::string_view rule, std::int64_t value);

  StagedOptions options_;
  Status refused_;
};

}  // namespace sluice::sink
