// SPDX-License-Identifier: Apache-2.0
#include "cli/dead_letters.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/admin_client.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::json;

StatusOr<Json> Ask(const std::string& server, const std::string& verb, const Json& body) {
  AdminRequest request;
  request.server = server;
  request.path = "/admin/v1/dead-letters:" + verb;
  request.json_body = body.dump();
  request.is_patient = true;  // a hundred thousand take seconds
  return CallAdmin(request);
}

ExitCode Fail(const Status& status) {
  fmt::print(stderr, "sluice: {}\n", Message(status));
  return absl::IsInvalidArgument(status) ? ExitCode::kUsage : ExitCode::kFailure;
}

Json ToJson(const std::string& queue, const DeadLetterCommands::Selection& selection) {
  Json body = {{"queue", queue}};
  if (!selection.ids.empty()) body["ids"] = selection.ids;
  if (!selection.ended_from.empty()) body["ended_from"] = selection.ended_from;
  if (!selection.ended_before.empty()) body["ended_before"] = selection.ended_before;
  if (selection.last_status >= 0) body["last_status"] = selection.last_status;
  return body;
}

std::string LastStatus(const Json& letter) {
  const Json attempts = letter.value("attempts", Json::array());
  if (attempts.empty()) return "-";
  const Json& last = attempts.back();
  return last.contains("http_status") ? std::to_string(last.value("http_status", 0)) : "no answer";
}

void PrintLetter(const Json& letter) {
  fmt::print("{}\n  id {}, created {}, gave up {}\n  {} {}\n", letter.value("name", ""),
             letter.value("id", ""), letter.value("create_time", ""), letter.value("end_time", ""),
             letter.value("method", ""), letter.value("url", ""));
  const Json headers = letter.value("headers", Json::object());
  for (const auto& [name, value] : headers.items()) {
    fmt::print("  {}: {}\n", name, value.get<std::string>());
  }
  fmt::print("  body (base64): {}\n  {} attempts sent, {} answered\n", letter.value("body", ""),
             letter.value("dispatch_count", 0), letter.value("response_count", 0));
  for (const Json& attempt : letter.value("attempts", Json::array())) {
    const std::string status = attempt.contains("http_status")
                                   ? fmt::format("HTTP {}", attempt.value("http_status", 0))
                                   : fmt::format("no answer, code {}", attempt.value("code", 0));
    fmt::print("  {}  {:<20} {:.3f} s\n", attempt.value("dispatch_time", ""), status,
               attempt.value("latency_seconds", 0.0));
  }
  if (letter.contains("last_message")) {
    fmt::print("  last: {}\n", letter.value("last_message", ""));
  }
}

}  // namespace

void DeadLetterCommands::AddSelection(CLI::App* command) {
  command->add_option("--id", selection_.ids, "This one; may be given several times");
  command->add_option("--ended-from", selection_.ended_from, "Gave up at this time or later");
  command->add_option("--ended-before", selection_.ended_before, "Gave up before this time");
  command->add_option("--last-status", selection_.last_status,
                      "The last answer had this HTTP status; 0: there was none");
}

void DeadLetterCommands::AddTo(CLI::App* tasks, const std::string& default_server) {
  server_ = default_server;
  command_ = tasks->add_subcommand("dead-letters", "Tasks that used up their attempts.");
  command_->require_subcommand(1);
  list_ = command_->add_subcommand("list", "List them, the oldest first.");
  show_ = command_->add_subcommand("show", "Show one with its request and each attempt.");
  redrive_ = command_->add_subcommand("redrive", "Send them again as new tasks of their queue.");
  delete_ = command_->add_subcommand("delete", "Delete them for good.");
  for (CLI::App* command : {list_, show_, redrive_, delete_}) {
    command->add_option("QUEUE", queue_, "projects/P/locations/L/queues/Q")->required();
    command->add_flag("--json", is_json_, "Print the server's JSON");
    command->add_option("--server", server_, "HOST:PORT or URL of the server")
        ->envname("SLUICE_SERVER")
        ->capture_default_str();
  }
  show_->add_option("ID", shown_id_, "As list prints it")->required();
  for (CLI::App* command : {list_, redrive_, delete_}) AddSelection(command);
  for (CLI::App* command : {redrive_, delete_}) {
    command->add_flag("--all", selection_.is_all, "All of the queue");
  }
}

ExitCode DeadLetterCommands::Run() const {
  if (*list_) return List();
  if (*show_) return Show();
  return Change(*redrive_ ? "redrive" : "delete");
}

ExitCode DeadLetterCommands::List() const {
  Json body = ToJson(queue_, selection_);
  if (!is_json_) {
    fmt::print("{:<12} {:<28} {:>8} {:<10} {}\n", "ID", "GAVE UP", "ATTEMPTS", "LAST", "NAME");
  }
  while (true) {
    const StatusOr<Json> answer = Ask(server_, "list", body);
    if (!answer.ok()) return Fail(answer.status());
    for (const Json& letter : answer->value("dead_letters", Json::array())) {
      if (is_json_) {
        fmt::print("{}\n", letter.dump());
        continue;
      }
      fmt::print("{:<12} {:<28} {:>8} {:<10} {}\n", letter.value("id", ""),
                 letter.value("end_time", ""), letter.value("dispatch_count", 0),
                 LastStatus(letter), letter.value("name", ""));
    }
    if (!answer->contains("next_page_token")) return ExitCode::kOk;
    body["page_token"] = (*answer)["next_page_token"];
  }
}

ExitCode DeadLetterCommands::Show() const {
  const StatusOr<Json> answer =
      Ask(server_, "list", {{"queue", queue_}, {"ids", {shown_id_}}, {"view", "FULL"}});
  if (!answer.ok()) return Fail(answer.status());
  const Json letters = answer->value("dead_letters", Json::array());
  if (letters.empty()) {
    return Fail(NotFound("queue {} has no dead letter {}", queue_, shown_id_));
  }
  if (is_json_) {
    fmt::print("{}\n", letters[0].dump());
  } else {
    PrintLetter(letters[0]);
  }
  return ExitCode::kOk;
}

ExitCode DeadLetterCommands::Change(const std::string& verb) const {
  Json body = ToJson(queue_, selection_);
  if (selection_.is_all) body["all"] = true;
  const StatusOr<Json> answer = Ask(server_, verb, body);
  if (!answer.ok()) return Fail(answer.status());
  if (is_json_) {
    fmt::print("{}\n", answer->dump());
    return ExitCode::kOk;
  }
  if (verb == "redrive") {
    fmt::print("{} sent again\n", answer->value("redriven", 0));
    for (const Json& id : answer->value("name_taken", Json::array())) {
      fmt::print("{} stays: another task has its name\n", id.get<std::string>());
    }
  } else {
    fmt::print("{} deleted\n", answer->value("deleted", 0));
  }
  bool is_complete = true;
  for (const Json& id : answer->value("not_found", Json::array())) {
    fmt::print(stderr, "sluice: queue {} has no dead letter {}\n", queue_, id.get<std::string>());
    is_complete = false;
  }
  return is_complete ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace sluice::cli
