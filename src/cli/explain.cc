// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "cli/admin_client.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

void PrintText(const Json& answer) {
  fmt::print("{}\n", answer.value("name", ""));
  const Json waits = answer.value("waits", Json::array());
  if (waits.empty()) fmt::print("  {}\n", answer.value("summary", ""));
  for (const Json& wait : waits) {
    fmt::print("  {:<16} {}\n", wait.value("reason", ""), wait.value("text", ""));
  }
  fmt::print("  schedule time {}, attempts {} sent, {} answered\n",
             answer.value("schedule_time", ""), answer.value("dispatch_count", 0),
             answer.value("response_count", 0));
  const Json attempt = answer.value("last_attempt", Json::object());
  if (attempt.contains("response_status")) {
    const Json& status = attempt["response_status"];
    fmt::print("  last attempt at {}: code {} {}\n", attempt.value("dispatch_time", ""),
               status.value("code", 0), status.value("message", ""));
  }
}

}  // namespace

ExitCode Explain(const std::string& server, const std::string& task) {
  const StatusOr<TaskName> name = TaskName::Parse(task);
  if (!name.ok()) {
    fmt::print(stderr, "sluice: {}\n", Message(name.status()));
    return ExitCode::kUsage;
  }
  AdminRequest request;
  request.server = server;
  request.path = "/admin/v1/explain/" + name->ToString();
  const StatusOr<Json> answer = CallAdmin(request);
  if (!answer.ok()) {
    fmt::print(stderr, "sluice: {}\n", Message(answer.status()));
    return ExitCode::kFailure;
  }
  PrintText(*answer);
  return ExitCode::kOk;
}

}  // namespace sluice::cli
