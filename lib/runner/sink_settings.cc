// SPDX-License-Identifier: Apache-2.0
#include "runner/sink_settings.h"

#include <utility>

namespace sluice::runner {
namespace {

template <typename Builder, typename Setter, typename T>
void SetIfGiven(Builder& builder, Setter setter, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_same_v<T, Duration>) {
    (builder.*setter)(absl::ToChronoNanoseconds(*value));
  } else {
    (builder.*setter)(*value);
  }
}

StatusOr<sink::WriterOptions> ToWriterOptions(const SinkOptions& given) {
  using Builder = sink::WriterOptions::Builder;
  Builder builder;
  SetIfGiven(builder, &Builder::set_max_in_flight_tasks, given.max_in_flight);
  SetIfGiven(builder, &Builder::set_channel_pool_size, given.channels);
  SetIfGiven(builder, &Builder::set_recovery_initial_backoff, given.initial_backoff);
  SetIfGiven(builder, &Builder::set_recovery_max_backoff, given.max_backoff);
  SetIfGiven(builder, &Builder::set_recovery_max_attempts, given.max_attempts);
  SetIfGiven(builder, &Builder::set_not_found_recovery_initial_backoff,
             given.not_found_initial_backoff);
  SetIfGiven(builder, &Builder::set_not_found_recovery_max_backoff, given.not_found_max_backoff);
  SetIfGiven(builder, &Builder::set_not_found_recovery_max_attempts, given.not_found_max_attempts);
  SetIfGiven(builder, &Builder::set_per_destination_metrics, given.per_destination_metrics);
  return builder.Build();
}

StatusOr<sink::StagedOptions> ToStagedOptions(const SinkOptions& given) {
  using Builder = sink::StagedOptions::Builder;
  Builder builder;
  SetIfGiven(builder, &Builder::set_name_retention, given.name_retention);
  SetIfGiven(builder, &Builder::set_clock_skew_allowance, given.clock_skew_allowance);
  SetIfGiven(builder, &Builder::set_request_timeout, given.request_timeout);
  SetIfGiven(builder, &Builder::set_max_staged_tasks, given.max_staged_tasks);
  SetIfGiven(builder, &Builder::set_max_staged_bytes, given.max_staged_bytes);
  SetIfGiven(builder, &Builder::set_verify_queue_retention, given.verify_queue_retention);
  if (given.expired_envelope_policy) {
    SLUICE_ASSIGN_OR_RETURN(const sink::ExpiredEnvelopePolicy policy,
                            sink::ParseExpiredEnvelopePolicy(*given.expired_envelope_policy));
    builder.set_expired_envelope_policy(policy);
  }
  return builder.Build();
}

}  // namespace

StatusOr<sink::SinkSettings> ToSinkSettings(const RunnerOptions& options) {
  sink::SinkSettings settings;
  SLUICE_ASSIGN_OR_RETURN(settings.writer_options, ToWriterOptions(options.sink));
  SLUICE_ASSIGN_OR_RETURN(const sink::StagedOptions staged, ToStagedOptions(options.sink));
  if (options.sink.is_exactly_once) {
    settings.guarantee = sink::DeliveryGuarantee::kExactlyOnce;
    settings.staged_options = staged;
  }
  if (!options.key_file.empty()) settings.service_account_key_file = options.key_file;
  if (!options.emulator_endpoint.empty()) {
    SLUICE_ASSIGN_OR_RETURN(settings.emulator_endpoint,
                            sink::Endpoint::Parse("emulator-endpoint", options.emulator_endpoint));
  }
  if (!options.endpoint.empty()) {
    SLUICE_ASSIGN_OR_RETURN(sink::Endpoint address,
                            sink::Endpoint::Parse("endpoint", options.endpoint));
    settings.endpoint =
        sink::ServiceEndpoint{std::move(address), options.is_tls, options.tls_root_file};
  }
  return settings;
}

}  // namespace sluice::runner
