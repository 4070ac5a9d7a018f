// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/options.h"

#include <limits>

namespace sluice::sink {
namespace {

constexpr std::int64_t kNanosPerMilli = 1'000'000;

}  // namespace

std::string_view ToString(DeliveryGuarantee guarantee) {
  return guarantee == DeliveryGuarantee::kExactlyOnce ? "exactly-once" : "at-least-once";
}

std::string_view ToString(ExpiredEnvelopePolicy policy) {
  switch (policy) {
    case ExpiredEnvelopePolicy::kAssumeCommitted:
      return "assume-committed";
    case ExpiredEnvelopePolicy::kCreateAnyway:
      return "create-anyway";
    case ExpiredEnvelopePolicy::kDrop:
      return "drop";
    case ExpiredEnvelopePolicy::kFail:
      break;
  }
  return "fail";
}

StatusOr<DeliveryGuarantee> ParseDeliveryGuarantee(std::string_view text) {
  for (const auto value : {DeliveryGuarantee::kAtLeastOnce, DeliveryGuarantee::kExactlyOnce}) {
    if (text == ToString(value)) return value;
  }
  return InvalidArgument("the delivery guarantee must be at-least-once or exactly-once, not \"{}\"",
                         text);
}

StatusOr<ExpiredEnvelopePolicy> ParseExpiredEnvelopePolicy(std::string_view text) {
  using Policy = ExpiredEnvelopePolicy;
  for (const auto value :
       {Policy::kFail, Policy::kAssumeCommitted, Policy::kCreateAnyway, Policy::kDrop}) {
    if (text == ToString(value)) return value;
  }
  return InvalidArgument(
      "the policy for expired envelopes must be fail, assume-committed, create-anyway or drop, not "
      "\"{}\"",
      text);
}

std::string WriterOptions::ToString() const {
  return fmt::format(
      "max_in_flight_tasks={}, channel_pool_size={}, recovery_initial_backoff={}ms, "
      "recovery_max_backoff={}ms, recovery_max_attempts={}, "
      "not_found_recovery_initial_backoff={}ms, "
      "not_found_recovery_max_backoff={}ms, not_found_recovery_max_attempts={}, "
      "per_destination_metrics={}",
      max_in_flight_tasks_, channel_pool_size_ ? std::to_string(*channel_pool_size_) : "default",
      recovery_initial_.count(), recovery_max_.count(), recovery_attempts_,
      not_found_initial_.count(), not_found_max_.count(), not_found_attempts_,
      per_destination_metrics_);
}

void WriterOptions::Builder::Positive(std::string_view name, std::int64_t value) {
  if (value <= 0 && refused_.ok()) {
    refused_ = InvalidArgument("{} must be above 0, not {}", name, value);
  }
}

WriterOptions::Milliseconds WriterOptions::Builder::WholeMillis(std::string_view name,
                                                                Nanoseconds value) {
  if (value.count() < kNanosPerMilli && refused_.ok()) {
    refused_ = InvalidArgument("{} must be at least 1 ms (its unit is the millisecond), not {} ns",
                               name, value.count());
  }
  return std::chrono::duration_cast<Milliseconds>(value);
}

WriterOptions::Builder& WriterOptions::Builder::set_max_in_flight_tasks(int value) {
  Positive("max_in_flight_tasks", value);
  options_.max_in_flight_tasks_ = value;
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_channel_pool_size(int value) {
  Positive("channel_pool_size", value);
  options_.channel_pool_size_ = value;
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_recovery_initial_backoff(Nanoseconds value) {
  options_.recovery_initial_ = WholeMillis("recovery_initial_backoff", value);
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_recovery_max_backoff(Nanoseconds value) {
  options_.recovery_max_ = WholeMillis("recovery_max_backoff", value);
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_recovery_max_attempts(int value) {
  Positive("recovery_max_attempts", value);
  options_.recovery_attempts_ = value;
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_not_found_recovery_initial_backoff(
    Nanoseconds value) {
  options_.not_found_initial_ = WholeMillis("not_found_recovery_initial_backoff", value);
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_not_found_recovery_max_backoff(
    Nanoseconds value) {
  options_.not_found_max_ = WholeMillis("not_found_recovery_max_backoff", value);
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_not_found_recovery_max_attempts(int value) {
  Positive("not_found_recovery_max_attempts", value);
  options_.not_found_attempts_ = value;
  return *this;
}

WriterOptions::Builder& WriterOptions::Builder::set_per_destination_metrics(bool value) {
  options_.per_destination_metrics_ = value;
  return *this;
}

StatusOr<WriterOptions> WriterOptions::Builder::Build() const {
  SLUICE_RETURN_IF_ERROR(refused_);
  if (options_.recovery_max_ < options_.recovery_initial_) {
    return InvalidArgument(
        "recovery_max_backoff must not be below recovery_initial_backoff: {} ms < {} ms",
        options_.recovery_max_.count(), options_.recovery_initial_.count());
  }
  if (options_.not_found_max_ < options_.not_found_initial_) {
    return InvalidArgument(
        "not_found_recovery_max_backoff must not be below not_found_recovery_initial_backoff: {} "
        "ms "
        "< {} ms",
        options_.not_found_max_.count(), options_.not_found_initial_.count());
  }
  return options_;
}

std::int64_t StagedOptions::window_millis() const {
  return (name_retention_ - clock_skew_allowance_ - request_timeout_).count() / kNanosPerMilli;
}

StatusOr<std::int64_t> StagedOptions::DeadlineMillis(std::int64_t origin_millis) const {
  std::int64_t deadline = 0;
  if (__builtin_add_overflow(origin_millis, window_millis(), &deadline)) {
    return OutOfRange("the deadline of an envelope staged at {} ms is beyond 64 bits",
                      origin_millis);
  }
  return deadline;
}

std::string StagedOptions::ToString() const {
  return fmt::format(
      "name_retention={}ns, clock_skew_allowance={}ns, request_timeout={}ns, max_staged_tasks={}, "
      "max_staged_bytes={}, verify_queue_retention={}, expired_envelope_policy={}",
      name_retention_.count(), clock_skew_allowance_.count(), request_timeout_.count(),
      max_staged_tasks_, max_staged_bytes_, verify_queue_retention_,
      sluice::sink::ToString(policy_));
}

void StagedOptions::Builder::Require(bool holds, std::string_view name, std::string_view rule,
                                     std::int64_t value) {
  if (!holds && refused_.ok())
    refused_ = InvalidArgument("{} must be {}, not {}", name, rule, value);
}

// The ceiling of about 292 years is that of the type, 2^63 - 1 nanoseconds.
StagedOptions::Builder& StagedOptions::Builder::set_name_retention(Nanoseconds value) {
  Require(value.count() > 0, "name_retention", "above 0 ns and at most 292 years", value.count());
  options_.name_retention_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_clock_skew_allowance(Nanoseconds value) {
  Require(value.count() >= 0, "clock_skew_allowance", "at least 0 ns", value.count());
  options_.clock_skew_allowance_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_request_timeout(Nanoseconds value) {
  Require(value.count() > 0, "request_timeout", "above 0 ns", value.count());
  options_.request_timeout_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_max_staged_tasks(int value) {
  Require(value > 0, "max_staged_tasks", "above 0", value);
  options_.max_staged_tasks_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_max_staged_bytes(std::int64_t value) {
  Require(value > 0, "max_staged_bytes", "above 0", value);
  options_.max_staged_bytes_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_verify_queue_retention(bool value) {
  options_.verify_queue_retention_ = value;
  return *this;
}

StagedOptions::Builder& StagedOptions::Builder::set_expired_envelope_policy(
    ExpiredEnvelopePolicy value) {
  options_.policy_ = value;
  return *this;
}

StatusOr<StagedOptions> StagedOptions::Builder::Build() const {
  SLUICE_RETURN_IF_ERROR(refused_);
  const Nanoseconds retention = options_.name_retention_;
  const Nanoseconds skew = options_.clock_skew_allowance_;
  const Nanoseconds timeout = options_.request_timeout_;
  // Skew and timeout are subtracted in turn, for their sum may not fit.
  if (skew >= retention || timeout >= retention - skew) {
    return InvalidArgument(
        "name_retention must exceed clock_skew_allowance + request_timeout: {} ns against {} ns + "
        "{} "
        "ns",
        retention.count(), skew.count(), timeout.count());
  }
  if (options_.window_millis() < 1) {
    return InvalidArgument(
        "name_retention less clock_skew_allowance less request_timeout must be at least one "
        "millisecond, not {} ns",
        (retention - skew - timeout).count());
  }
  return options_;
}

}  // namespace sluice::sink
