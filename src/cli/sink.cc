// SPDX-License-Identifier: Apache-2.0
#include "cli/sink.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <set>

#include "env/posix/file_system.h"
#include "env/posix/steady_clock.h"
#include "runner/checkpoint_store.h"
#include "runner/host.h"
#include "runner/options.h"
#include "runner/progress.h"
#include "runner/task_sink.h"

namespace sluice::cli {
namespace {

constexpr std::uint64_t kConfigBytesMax = 1 << 20;

volatile std::sig_atomic_t g_stop_wanted = 0;

void OnStopSignal(int /*signal*/) { g_stop_wanted = 1; }

// The second signal has its usual effect: what is not checkpointed is read again.
void CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

void PrintHelp() {
  fmt::print(
      "Usage: sluice sink --from FILE --queue NAME --http.url URL [OPTION ...]\n\n"
      "Reads records, one JSON object a line, and makes a task of each.\n\n");
  for (const runner::OptionInfo& option : runner::KnownOptions()) {
    fmt::print("  --{:<42} {}\n", fmt::format("{} {}", option.key, option.value_form), option.help);
  }
  fmt::print("  --{:<42} {}\n", "http.headers.NAME TEMPLATE",
             "One header; app-engine.headers.NAME too");
  fmt::print("  --{:<42} {}\n", "config FILE", "YAML with the same keys; flags win");
}

bool IsSwitch(std::string_view key) {
  const auto& known = runner::KnownOptions();
  return std::any_of(known.begin(), known.end(), [&](const runner::OptionInfo& option) {
    return option.key == key && option.value_form.empty();
  });
}

StatusOr<runner::GivenOptions> ReadFlags(const std::vector<std::string>& arguments) {
  runner::GivenOptions given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--")) {
      return InvalidArgument("\"{}\" is not an option; options begin with --", argument);
    }
    const std::size_t equals = argument.find('=');
    std::string key = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals != std::string::npos) {
      given.emplace_back(std::move(key), argument.substr(equals + 1));
    } else if (IsSwitch(key)) {
      given.emplace_back(std::move(key), "true");
    } else if (i + 1 < arguments.size()) {
      given.emplace_back(std::move(key), arguments[++i]);
    } else {
      return InvalidArgument("option {}: it has no value", key);
    }
  }
  return given;
}

/// Flags, and what a file named by one says of other keys.
StatusOr<runner::GivenOptions> ReadAll(const std::vector<std::string>& arguments,
                                       env::FileSystem& files) {
  SLUICE_ASSIGN_OR_RETURN(const runner::GivenOptions flags, ReadFlags(arguments));
  runner::GivenOptions given;
  std::set<std::string> keys;
  std::string config;
  for (const auto& [key, value] : flags) {
    if (key == "config") {
      config = value;
      continue;
    }
    given.emplace_back(key, value);
    keys.insert(key);
  }
  if (config.empty()) return given;
  SLUICE_ASSIGN_OR_RETURN(const std::string text, env::ReadFile(files, config, kConfigBytesMax));
  const auto in_file = runner::ReadOptionsFile(text);
  if (!in_file.ok()) return InvalidArgument("{}: {}", config, Message(in_file.status()));
  for (const auto& [key, value] : *in_file) {
    if (!keys.contains(key)) given.emplace_back(key, value);
  }
  return given;
}

ExitCode Fail(ExitCode code, const Status& status) {
  fmt::print(stderr, "sluice: {}\n", Message(status));
  return code;
}

ExitCode CodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
      return ExitCode::kDataDamaged;
    case absl::StatusCode::kUnimplemented:
      return ExitCode::kUsage;
    default:
      return ExitCode::kFailure;
  }
}

ExitCode Run(const runner::RunnerOptions& options) {
  env::PosixFileSystem files;
  const env::SteadyClock clock;
  auto source = runner::RecordSource::Make(options.from);
  if (!source.ok()) return Fail(ExitCode::kUsage, source.status());

  std::optional<runner::CheckpointStore> checkpoints;
  if (!options.checkpoint_dir.empty()) {
    auto store = runner::CheckpointStore::Open(files, options.checkpoint_dir);
    if (!store.ok()) {
      return Fail(
          absl::IsFailedPrecondition(store.status()) ? ExitCode::kDataInUse : ExitCode::kFailure,
          store.status());
    }
    checkpoints.emplace(*std::move(store));
    const auto latest = checkpoints->Latest();  // before a client is opened for nothing
    if (!latest.ok()) return Fail(ExitCode::kDataDamaged, latest.status());
  }

  sink::MetricRegistry metrics;
  auto sink = runner::MakeTaskSink(
      options, &metrics, [](std::string_view line) { fmt::print(stderr, "sluice: {}\n", line); });
  if (!sink.ok()) {
    return Fail(absl::IsInvalidArgument(sink.status()) ? ExitCode::kUsage : ExitCode::kFailure,
                sink.status());
  }

  CatchStopSignals();
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  runner::Progress progress(stderr, is_terminal, &metrics);
  runner::Host* running = nullptr;
  runner::Host host({.source = source->get(),
                     .sink = sink->get(),
                     .checkpoints = checkpoints ? &*checkpoints : nullptr,
                     .job = fmt::format("{} from {}", options.queue, fmt::join(options.from, ", ")),
                     .interval = absl::ToChronoMilliseconds(options.checkpoint_interval),
                     .now = [&clock] { return clock.Now(); },
                     .on_turn =
                         [&] {
                           if (g_stop_wanted != 0) running->Stop();
                           progress.Show(running->figures(), clock.Now());
                         }});
  running = &host;
  const Status status = host.Run();
  progress.Show(host.figures(), clock.Now(), true);
  return status.ok() ? ExitCode::kOk : Fail(CodeOf(status), status);
}

}  // namespace

ExitCode Sink(const std::vector<std::string>& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    PrintHelp();
    return ExitCode::kOk;
  }
  env::PosixFileSystem files;
  const auto given = ReadAll(arguments, files);
  if (!given.ok()) return Fail(ExitCode::kUsage, given.status());
  const auto options = runner::ParseOptions(*given);
  if (!options.ok()) return Fail(ExitCode::kUsage, options.status());
  return Run(*options);
}

}  // namespace sluice::cli
