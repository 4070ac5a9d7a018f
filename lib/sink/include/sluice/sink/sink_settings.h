// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a sink is made of apart from the record's type: the client's settings, the
// options of both modes, and the checks over all of them. Used through CloudTasksSink.
//
// Threading: values.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sluice/sink/endpoint.h"
#include "sluice/sink/failed_task_handler.h"
#include "sluice/sink/options.h"

namespace sluice::sink {

/// A service other than Google's, with all options: this is how Sluice is reached.
struct ServiceEndpoint {
  Endpoint address;
  bool is_tls = false;
  std::string tls_root_file;  // PEM to trust; empty: the system's
  friend bool operator==(const ServiceEndpoint&, const ServiceEndpoint&) = default;
};

/// A handler for each writer.
using HandlerFactory = std::function<std::unique_ptr<FailedTaskHandler>()>;

struct SinkSettings {
  WriterOptions writer_options;
  std::optional<StagedOptions> staged_options;  // unset: the defaults
  DeliveryGuarantee guarantee = DeliveryGuarantee::kAtLeastOnce;
  HandlerFactory make_handler = FailJob;
  std::optional<std::string> service_account_key_file;  // unset: application default
  std::optional<Endpoint> emulator_endpoint;            // one plaintext channel, no credentials
  std::optional<ServiceEndpoint> endpoint;              // unset, and no emulator: Google's
};

/// The rules between settings; the single values were checked where they were set.
[[nodiscard]] Status CheckClientSettings(const SinkSettings& settings);  // of the client alone
[[nodiscard]] Status CheckSettings(const SinkSettings& settings, bool has_fixed_queue);
[[nodiscard]] Status CheckKeyFilePath(std::string_view path);

/// A queue the sink writes to, as lineage tools name data sets.
struct LineageDataset {
  std::string name_space;  // cloudtasks://{project}/{location}
  std::string name;        // {queue}
  std::string kind;        // cloudtasks-queue
  std::string identity;    // project/location/queue
  friend bool operator==(const LineageDataset&, const LineageDataset&) = default;
};

/// One data set for a fixed queue, none otherwise. Opens and calls nothing.
[[nodiscard]] std::vector<LineageDataset> DescribeLineage(const QueueDestination* fixed_queue);

}  // namespace sluice::sink
