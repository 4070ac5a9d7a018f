// SPDX-License-Identifier: Apache-2.0
#include "cli/welcome.h"

#include "cli/version.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kExampleQueue = "projects/demo/locations/local/queues/orders";

std::string DataSentence(const admin::ServerOptions& options) {
  if (options.in_memory) return "in memory: nothing survives this process";
  const bool is_sync = options.durability == log::Durability::kSync;
  return fmt::format("{} ({})", options.data_dir,
                     is_sync ? "durability sync: a power cut loses nothing acknowledged"
                             : "durability os: a power cut may lose up to a second");
}

void AppendExamples(const WelcomeInput& input, std::string* text) {
  const std::string& address = input.addresses->front();
  const std::string_view queue = input.queue.empty() ? kExampleQueue : input.queue;
  *text += "\nThree things to try, in another terminal:\n";
  if (input.is_source_tree) {
    *text += fmt::format(R"(  1. Watch a thousand orders pass a queue at 100 a second:
       make demo
  2. Receive tasks, and create three with the official client:
       python3 docs/examples/receiver.py &
       .deps/venv/bin/python docs/examples/create_tasks.py {}
)",
                         address);
  } else {
    *text +=
        fmt::format(R"(  1. Create a queue, with any Cloud Tasks client pointed at {0} or by hand:
       grpcurl -plaintext -d '{{"parent": "projects/demo/locations/local",
         "queue": {{"name": "{1}"}}}}' \
         {0} google.cloud.tasks.v2.CloudTasks/CreateQueue
  2. Create a task in it:
       grpcurl -plaintext -d '{{"parent": "{1}",
         "task": {{"http_request": {{"url": "http://127.0.0.1:9000/hello"}}}}}}' \
         {0} google.cloud.tasks.v2.CloudTasks/CreateTask
)",
                    address, kExampleQueue);
  }
  *text += fmt::format(R"(  3. See what the queues do, and why a task has not run yet:
       curl -s http://{}/metrics | grep sluice_queue
       sluice explain {}/tasks/TASK

)",
                       address, queue);
}

}  // namespace

std::string RecoverySentence(const log::RecoveryReport& report) {
  if (report.frames_replayed == 0 && report.end == log::kBeginning)
    return "new, nothing to recover";
  std::string text =
      fmt::format("{} frames ({} bytes) replayed{}", report.frames_replayed, report.bytes_replayed,
                  report.was_sealed ? ", clean end" : ", no clean end");
  if (report.bytes_cut > 0) {
    text += fmt::format("; an unproven last frame of {} bytes was cut: {}", report.bytes_cut,
                        report.cut_reason);
  }
  return text;
}

std::string WelcomeText(const WelcomeInput& input) {
  const admin::ServerOptions& options = *input.options;
  std::string text = fmt::format("sluice {}\n", kVersion);
  const bool has_tls = !options.tls_cert.empty();
  for (const std::string& address : *input.addresses) {
    text += fmt::format("  listening  {} (gRPC and HTTP, {})\n", address,
                        has_tls ? "TLS" : "plain text");
  }
  text += fmt::format("  data       {}\n", DataSentence(options));
  if (!options.in_memory) {
    text += fmt::format("  recovery   {}\n", RecoverySentence(*input.recovery));
    for (const std::string& warning : input.recovery->warnings) {
      text += fmt::format("  recovery   warning: {}\n", warning);
    }
  }
  if (!options.config.empty()) {
    text += fmt::format("  queues     {} ({})\n", admin::Summary(*input.applied), options.config);
  }
  if (options.virtual_time) {
    text += "  time       virtual: it moves only by POST /admin/v1/time:advance\n";
  }
  if (options.enable_fault_injection) {
    text += "  faults     can be injected by POST /admin/v1/faults\n";
  }
  if (options.dispatch_skip_tls_verification) {
    text += "  targets    certificates are NOT verified\n";
  }
  if (input.has_examples) AppendExamples(input, &text);
  return text;
}

std::string ReadyLine(std::string_view address) {
  return fmt::format("sluice: ready on {}\n", address);
}

}  // namespace sluice::cli
