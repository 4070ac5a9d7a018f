// SPDX-License-Identifier: Apache-2.0
#pragma once

// The configuration file: server options and the queues that shall exist.
// Reading checks everything that can be known from the text and reports every
// mistake at once, each with file, line, column, key, value and what is
// allowed. It opens no file and changes no server; queue_apply.h does that.
//
// Pure functions; any thread.
// Failure: INVALID_ARGUMENT. Exceptions of the YAML library end here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/server_options.h"
#include "base/names.h"
#include "base/status.h"
#include "core/tasks/machine.h"

namespace sluice::admin {

inline constexpr std::size_t kConfigBytesMax = 16u << 20;

/// Where something stands; line and column count from one.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  [[nodiscard]] std::string ToString() const;
};

/// A server option as the file has it.
struct FileSetting {
  std::string key;
  std::string value;
  Place place;
};

/// A queue that shall exist. Settings that are not declared are not managed:
/// they keep the value they have, or the service's default in a new queue.
struct QueueDeclaration {
  QueueName name;
  Place place;
  core::QueuePatch settings;
  std::optional<core::QueueState> state;  // kRunning or kPaused
  /// Of each declared key, by its path inside the queue.
  std::map<std::string, Place, std::less<>> places;
};

struct Config {
  std::vector<FileSetting> settings;
  std::vector<QueueDeclaration> queues;
};

/// Keys of one entry of `queues`, as paths such as `rate_limits.max_burst_size`;
/// for the reference page and for suggestions.
struct QueueKey {
  std::string_view path;
  std::string_view value_form;
  std::string_view help;
};
[[nodiscard]] const std::vector<QueueKey>& QueueKeys();

/// `file_name` is only for messages. Errors: INVALID_ARGUMENT, one line a mistake.
StatusOr<Config> ParseConfig(std::string_view text, std::string_view file_name);

/// Sets the options that the file has. Errors: INVALID_ARGUMENT.
Status ApplySettings(const Config& config, ServerOptions* options);

/// Checks the queues against limits that flags may have changed after reading.
/// Errors: INVALID_ARGUMENT, one line a mistake.
Status CheckQueues(const Config& config, const core::TaskLimits& limits);

}  // namespace sluice::admin
