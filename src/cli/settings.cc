// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include "admin/option_table.h"
#include "env/file_system.h"

namespace sluice::cli {
namespace {

Status ApplyFlags(const FlagValues& flags, admin::ServerOptions* options) {
  for (const auto& [key, value] : flags) {
    const admin::Option* option = admin::FindOption(key);
    SLUICE_CHECK(option != nullptr, "flags are made from the option table");
    if (const Status status = option->set(*options, value); !status.ok()) {
      return InvalidArgument("{}: {}", admin::FlagName(*option), Message(status));
    }
  }
  return {};
}

}  // namespace

StatusOr<Settings> LoadSettings(const FlagValues& flags, const ReadVariable& read_variable,
                                env::FileSystem& files) {
  // Environment and flags are read twice: first for the file's name alone, then
  // over what the file says.
  admin::ServerOptions above_file;
  SLUICE_RETURN_IF_ERROR(admin::ApplyEnvironment(read_variable, &above_file));
  SLUICE_RETURN_IF_ERROR(ApplyFlags(flags, &above_file));

  Settings settings;
  if (!above_file.config.empty()) {
    const StatusOr<std::string> text =
        env::ReadFile(files, above_file.config, admin::kConfigBytesMax);
    if (!text.ok()) {
      return InvalidArgument("configuration file {}: {}", above_file.config,
                             Message(text.status()));
    }
    SLUICE_ASSIGN_OR_RETURN(settings.config, admin::ParseConfig(*text, above_file.config));
    SLUICE_RETURN_IF_ERROR(admin::ApplySettings(settings.config, &settings.options));
  }
  SLUICE_RETURN_IF_ERROR(admin::ApplyEnvironment(read_variable, &settings.options));
  SLUICE_RETURN_IF_ERROR(ApplyFlags(flags, &settings.options));
  SLUICE_RETURN_IF_ERROR(admin::CheckOptions(settings.options));
  SLUICE_RETURN_IF_ERROR(admin::CheckQueues(settings.config, settings.options.limits));
  return settings;
}

std::vector<std::string> Differences(const admin::ServerOptions& running,
                                     const admin::ServerOptions& wanted) {
  std::vector<std::string> keys;
  for (const admin::Option& option : admin::Options()) {
    if (option.show(running) != option.show(wanted)) keys.emplace_back(option.key);
  }
  return keys;
}

}  // namespace sluice::cli
