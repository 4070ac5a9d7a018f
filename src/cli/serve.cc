// SPDX-License-Identifier: Apache-2.0
#include "cli/serve.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "cli/descriptor_limit.h"
#include "cli/server.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "cli/welcome.h"
#include "env/posix/clock.h"
#include "env/posix/file_system.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kQuickstartName = "quickstart.yaml";

void Print(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

ExitCode Fail(const Failure& failure) {
  Print(stderr, fmt::format("sluice: {}\n", failure.message));
  return failure.code;
}

StatusOr<Settings> Load(const FlagValues& flags, env::FileSystem& files) {
  return LoadSettings(
      flags, [](const char* name) -> const char* { return std::getenv(name); }, files);
}

void WarnOfFewDescriptors(std::uint64_t limit, const admin::ServerOptions& options,
                          admin::Logger& log) {
  const std::uint64_t needed = DescriptorsNeeded(options);
  if (limit >= needed) return;
  log.Warn("descriptor_limit_low", {{"resource", "RLIMIT_NOFILE"},
                                    {"limit", limit},
                                    {"needed", needed},
                                    {"advice", "raise the hard limit (ulimit -n, LimitNOFILE=)"}});
}

void Welcome(const Settings& settings, const Server& server) {
  WelcomeInput welcome;
  welcome.options = &settings.options;
  welcome.addresses = &server.addresses();
  welcome.recovery = &server.recovery();
  welcome.applied = &server.applied();
  const std::string queue =
      settings.config.queues.empty() ? "" : settings.config.queues.front().name.ToString();
  welcome.queue = queue;
  welcome.is_source_tree = settings.options.config.ends_with(kQuickstartName);
  welcome.has_examples = welcome.is_source_tree || ::isatty(STDOUT_FILENO) == 1;
  Print(stdout, WelcomeText(welcome));
  Print(stdout, ReadyLine(server.addresses().front()));
}

void Reload(const FlagValues& flags, env::FileSystem& files, admin::Logger& log, Server& server) {
  const StatusOr<Settings> settings = Load(flags, files);
  if (!settings.ok()) {
    log.Error("reload_refused", {{"reason", Message(settings.status())}});
    return;
  }
  server.Reload(*settings);
}

}  // namespace

ExitCode Serve(const FlagValues& flags) {
  Signals signals;  // first: the threads of all other parts inherit what it blocks
  const std::uint64_t descriptor_limit = RaiseDescriptorLimit();
  env::PosixFileSystem files;
  env::SystemClock clock;
  const StatusOr<Settings> settings = Load(flags, files);
  if (!settings.ok()) {
    return Fail({ExitCode::kUsage, std::string(Message(settings.status()))});
  }
  const admin::ServerOptions& options = settings->options;
  admin::Logger log(options.log_level, options.log_format, clock);
  log.Debug("starting", {{"version", kVersion}, {"pid", ::getpid()}});
  WarnOfFewDescriptors(descriptor_limit, options, log);

  auto started = Server::Start(*settings, log, clock, files);
  if (const auto* failure = std::get_if<Failure>(&started)) return Fail(*failure);
  Server& server = *std::get<std::unique_ptr<Server>>(started);
  for (const std::string& warning : server.recovery().warnings) {
    log.Warn("recovery", {{"warning", warning}});
  }
  if (!options.port_file.empty()) {
    const Status status =
        env::WriteFileAtomically(files, options.port_file, fmt::format("{}\n", server.port()));
    if (!status.ok()) {
      return Fail({ExitCode::kFailure,
                   fmt::format("port file {}: {}", options.port_file, Message(status))});
    }
  }
  log.Info("ready", {{"address", server.addresses().front()}, {"version", kVersion}});
  Welcome(*settings, server);

  while (signals.Wait() == Signals::Event::kReload) Reload(flags, files, log, server);
  log.Info("stopping", {{"grace", absl::FormatDuration(options.shutdown_grace)}});
  server.Stop();
  log.Info("stopped");
  return ExitCode::kOk;
}

}  // namespace sluice::cli
