// SPDX-License-Identifier: Apache-2.0
//
// The command line: which subcommand, with which values. What they mean is
// decided elsewhere.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/option_table.h"
#include "cli/backup.h"
#include "cli/dead_letters.h"
#include "cli/exit_code.h"
#include "cli/explain.h"
#include "cli/serve.h"
#include "cli/sink.h"
#include "cli/version.h"

namespace sluice::cli {
namespace {

constexpr const char* kDefaultServer = "127.0.0.1:8085";

/// What was written after each flag of `serve`, by option key.
struct ServeFlags {
  std::map<std::string_view, std::string> values;
  std::map<std::string_view, std::vector<std::string>> lists;
  std::map<std::string_view, CLI::Option*> flags;

  FlagValues Given() {
    FlagValues given;
    for (const auto& [key, flag] : flags) {
      if (flag->count() == 0) continue;
      const auto list = lists.find(key);
      given[key] =
          list == lists.end() ? values[key] : fmt::format("{}", fmt::join(list->second, ","));
    }
    return given;
  }
};

void AddServeFlags(CLI::App* serve, ServeFlags* out) {
  for (const admin::Option& option : admin::Options()) {
    const std::string name = admin::FlagName(option);
    const std::string help = fmt::format("{} [{}]", option.help, admin::EnvironmentName(option));
    CLI::Option* flag = nullptr;
    switch (option.kind) {
      case admin::Option::Kind::kSwitch:
        flag = serve->add_flag(name, out->values[option.key], help);
        break;
      case admin::Option::Kind::kList:
        flag = serve->add_option(name, out->lists[option.key], help)->allow_extra_args(false);
        break;
      case admin::Option::Kind::kValue:
        flag = serve->add_option(name, out->values[option.key], help);
        break;
    }
    if (option.kind != admin::Option::Kind::kSwitch) {
      flag->type_name(std::string(option.value_form));
    }
    if (option.key.starts_with("limits.")) flag->group("Limits");
    out->flags[option.key] = flag;
  }
  serve->get_option("--data-dir")->excludes(serve->get_option("--in-memory"));
}

int Main(int argc, char** argv) {
  CLI::App app("Sluice: durable task queues that speak the Cloud Tasks API.", "sluice");
  app.set_version_flag("--version", fmt::format("sluice {}", kVersion));
  app.require_subcommand(1);

  CLI::App* serve = app.add_subcommand(
      "serve", "Run the server. Flags win over the environment, it over the file.");
  ServeFlags serve_flags;
  AddServeFlags(serve, &serve_flags);

  CLI::App* version = app.add_subcommand("version", "Print the version.");

  std::string server = kDefaultServer;
  std::string backup_dir;
  CLI::App* backup =
      app.add_subcommand("backup", "Have a running server write a copy of its data.");
  backup->add_option("DIR", backup_dir, "A new folder on the server's machine")->required();
  std::string task;
  CLI::App* explain = app.add_subcommand("explain", "Say why a task has not run yet.");
  explain->add_option("TASK", task, "projects/P/locations/L/queues/Q/tasks/T")->required();
  for (CLI::App* command : {backup, explain}) {
    command->add_option("--server", server, "HOST:PORT or URL of the server")
        ->envname("SLUICE_SERVER")
        ->capture_default_str();
  }

  CLI::App* tasks = app.add_subcommand("tasks", "Look at tasks and change them.");
  tasks->require_subcommand(1);
  DeadLetterCommands dead_letters;
  dead_letters.AddTo(tasks, kDefaultServer);

  app.add_subcommand("sink", "Make tasks of a stream of records (sink --help).");
  if (argc > 1 && std::string_view(argv[1]) == "sink") {
    // Its keys have dots and headers among them, which the parser takes for subcommands.
    return static_cast<int>(Sink({argv + 2, argv + argc}));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? static_cast<int>(ExitCode::kOk)
                                : static_cast<int>(ExitCode::kUsage);
  }
  ExitCode code = ExitCode::kOk;
  if (*version) {
    fmt::print("sluice {}\n", kVersion);
  } else if (*serve) {
    code = Serve(serve_flags.Given());
  } else if (*backup) {
    code = Backup(server, backup_dir);
  } else if (*explain) {
    code = Explain(server, task);
  } else if (dead_letters.is_chosen()) {
    code = dead_letters.Run();
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) { return sluice::cli::Main(argc, argv); }
