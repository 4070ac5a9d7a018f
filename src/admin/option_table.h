// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one table of server options. A flag, an environment variable and a key of
// the configuration file are three spellings of one entry: `limits.queues_max`
// is `--limits-queues-max` and `SLUICE_LIMITS_QUEUES_MAX`. The reference page
// docs/reference/configuration.md is checked against it by a test.
//
// Threading: the table is built on first use and never changes.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/server_options.h"
#include "base/status.h"

namespace sluice::admin {

struct Option {
  enum class Kind : std::uint8_t { kValue, kSwitch, kList };

  std::string_view key;         // as in the file
  Kind kind = Kind::kValue;     // a switch may stand alone as a flag; a list repeats
  std::string_view value_form;  // for help: what may be written
  std::string_view help;
  bool is_in_file = true;  // false: flag and environment only
  /// Takes the value as text; a list with commas. Errors: INVALID_ARGUMENT, options unchanged.
  std::function<Status(ServerOptions&, std::string_view)> set;
  /// The value as `set` reads it.
  std::function<std::string(const ServerOptions&)> show;
};

[[nodiscard]] const std::vector<Option>& Options();
[[nodiscard]] const Option* FindOption(std::string_view key);

/// `--limits-queues-max`
[[nodiscard]] std::string FlagName(const Option& option);
/// `SLUICE_LIMITS_QUEUES_MAX`
[[nodiscard]] std::string EnvironmentName(const Option& option);

/// Sets every option whose variable is not empty; `read` is getenv or a fake of
/// it. Errors: INVALID_ARGUMENT naming the variable.
Status ApplyEnvironment(const std::function<const char*(const char*)>& read,
                        ServerOptions* options);

}  // namespace sluice::admin
