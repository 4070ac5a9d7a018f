// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/sink_settings.h"

#include "blank.h"

namespace sluice::sink {

Status CheckKeyFilePath(std::string_view path) {
  if (IsBlank(path)) return InvalidArgument("service_account_key_file must not be blank");
  return {};
}

Status CheckClientSettings(const SinkSettings& settings) {
  if (settings.emulator_endpoint) {
    if (settings.service_account_key_file) {
      return FailedPrecondition(
          "service_account_key_file and emulator_endpoint exclude each other: an emulator gets no "
          "credentials");
    }
    if (settings.writer_options.channel_pool_size()) {
      return FailedPrecondition(
          "channel_pool_size and emulator_endpoint exclude each other: an emulator always gets one "
          "channel");
    }
    if (settings.endpoint) {
      return FailedPrecondition("endpoint and emulator_endpoint exclude each other");
    }
  }
  if (settings.endpoint && !settings.endpoint->is_tls && settings.service_account_key_file) {
    return FailedPrecondition(
        "service_account_key_file and a plaintext endpoint exclude each other: credentials need "
        "TLS");
  }
  if (settings.endpoint && !settings.endpoint->tls_root_file.empty() &&
      settings.service_account_key_file) {
    return FailedPrecondition(
        "service_account_key_file and the root file of an endpoint exclude each other: calls with "
        "a "
        "key trust the system's certificates");
  }
  return {};
}

Status CheckSettings(const SinkSettings& settings, bool has_fixed_queue) {
  SLUICE_RETURN_IF_ERROR(CheckClientSettings(settings));
  const bool is_staged = settings.guarantee == DeliveryGuarantee::kExactlyOnce;
  if (settings.staged_options && !is_staged) {
    return FailedPrecondition("staged_options need the delivery_guarantee exactly-once");
  }
  if (is_staged && !has_fixed_queue) {
    return FailedPrecondition("the delivery_guarantee exactly-once needs a fixed queue");
  }
  if (is_staged && !settings.make_handler()->fails_job()) {
    return FailedPrecondition(
        "the delivery_guarantee exactly-once takes no failed_task_handler but FailJob");
  }
  return {};
}

std::vector<LineageDataset> DescribeLineage(const QueueDestination* fixed_queue) {
  if (fixed_queue == nullptr) return {};
  return {{.name_space =
               fmt::format("cloudtasks://{}/{}", fixed_queue->project(), fixed_queue->location()),
           .name = fixed_queue->queue(),
           .kind = "cloudtasks-queue",
           .identity = fixed_queue->ToString()}};
}

}  // namespace sluice::sink
