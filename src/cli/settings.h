// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything a server was told, from all three places: flags over environment
// over configuration file over defaults.
//
// Threading: one thread. Failure: every error is a usage error and says where
// the wrong value stood.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "admin/config.h"
#include "admin/server_options.h"
#include "base/status.h"

namespace sluice::env {
class FileSystem;
}  // namespace sluice::env

namespace sluice::cli {

/// Values of flags by option key, as written.
using FlagValues = std::map<std::string_view, std::string>;
using ReadVariable = std::function<const char*(const char*)>;

struct Settings {
  admin::ServerOptions options;
  admin::Config config;  // empty without a file
};

/// Errors: INVALID_ARGUMENT; those of reading the file.
StatusOr<Settings> LoadSettings(const FlagValues& flags, const ReadVariable& read_variable,
                                env::FileSystem& files);

/// Keys of server options that differ: a reload cannot change them.
[[nodiscard]] std::vector<std::string> Differences(const admin::ServerOptions& running,
                                                   const admin::ServerOptions& wanted);

}  // namespace sluice::cli
