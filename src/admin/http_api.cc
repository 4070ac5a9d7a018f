// SPDX-License-Identifier: Apache-2.0
#include "admin/http_api.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "admin/dead_letters.h"
#include "admin/explain.h"
#include "admin/faults.h"
#include "admin/json_answer.h"
#include "admin/logging.h"
#include "admin/virtual_time.h"
#include "base/http_headers.h"
#include "base/text.h"
#include "env/clock.h"

namespace sluice::admin {
namespace {

using front::net::HttpResponder;
using front::net::HttpResponse;
using Json = nlohmann::json;

constexpr std::string_view kExplainPrefix = "/admin/v1/explain/";
constexpr std::string_view kFaultsPath = "/admin/v1/faults";
constexpr std::string_view kFaultPrefix = "/admin/v1/faults/";
constexpr std::string_view kTimePath = "/admin/v1/time";
constexpr std::string_view kAdvancePath = "/admin/v1/time:advance";
constexpr std::string_view kBackupPath = "/admin/v1/backup";
constexpr std::string_view kDeadLettersPrefix = "/admin/v1/dead-letters:";

HttpResponse WrongMethod(const front::net::HttpRequest& request, std::string_view allowed) {
  HttpResponse response = ErrorAnswer(
      405, "UNIMPLEMENTED",
      fmt::format("{} {}: this path takes {} only", request.method, request.path, allowed));
  response.headers.push_back({"Allow", std::string(allowed)});
  return response;
}

bool IsRead(const front::net::HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// Refuses a POST that is not JSON or too large.
std::optional<HttpResponse> CheckBody(const front::net::HttpRequest& request) {
  const std::string* type = request.FindHeader("Content-Type");
  if (type == nullptr || !IsMediaType(*type, "application/json")) {
    return ErrorAnswer(415, "INVALID_ARGUMENT",
                       "send JSON, with the header Content-Type: application/json");
  }
  if (request.body.size() > kAdminBodyBytesMax) {
    return ErrorAnswer(413, "INVALID_ARGUMENT",
                       fmt::format("the request body has {} bytes; at most {} are taken",
                                   request.body.size(), kAdminBodyBytesMax));
  }
  return std::nullopt;
}

bool IsLoopbackPeer(std::string_view peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]") || peer.starts_with("[::ffff:127.");
}

Status FaultsAreOff() {
  return Status(absl::StatusCode::kPermissionDenied,
                "fault injection is off; start the server with --enable-fault-injection");
}

}  // namespace

void HttpApi::Handle(Request request, HttpResponder responder) {
  if (std::optional<Response> response = AnswerAtOnce(request)) {
    if (parts_.log != nullptr) {
      parts_.log->Debug("admin_call", {{"method", request.method},
                                       {"path", request.path},
                                       {"peer", request.peer},
                                       {"status", response->status}});
    }
    responder.Send(*std::move(response));
  } else if (request.path == "/metrics") {
    Metrics(std::move(responder));
  } else if (request.path == kBackupPath) {
    Backup(request, std::move(responder));
  } else if (request.path.starts_with(kDeadLettersPrefix)) {
    DeadLetters(request, std::move(responder));
  } else {
    Explain(std::string_view(request.path).substr(kExplainPrefix.size()), std::move(responder));
  }
}

std::optional<HttpApi::Response> HttpApi::AnswerAtOnce(const Request& request) {
  const std::string_view path = request.path;
  const bool is_for_later = path == "/metrics" || path == kBackupPath ||
                            path.starts_with(kExplainPrefix) ||
                            path.starts_with(kDeadLettersPrefix);
  if (path == "/healthz") return IsRead(request) ? Health() : WrongMethod(request, "GET");
  if (phase_ != Phase::kReady && (is_for_later || path.starts_with("/admin/"))) return Health();
  if (path == kBackupPath || path.starts_with(kDeadLettersPrefix)) {
    if (request.method != "POST") return WrongMethod(request, "POST");
    return CheckBody(request);
  }
  if (is_for_later) {
    if (!IsRead(request)) return WrongMethod(request, "GET");
    return std::nullopt;
  }
  if (path == kTimePath) {
    if (!IsRead(request)) return WrongMethod(request, "GET");
    return ShowTime(*parts_.clock, parts_.virtual_clock != nullptr);
  }
  if (path == kAdvancePath) {
    if (request.method != "POST") return WrongMethod(request, "POST");
    if (auto refusal = CheckBody(request)) return refusal;
    return AdvanceTime(parts_.virtual_clock, request.body);
  }
  if (path == kFaultsPath) return Faults(request);
  if (path.starts_with(kFaultPrefix)) {
    return FaultById(request, path.substr(kFaultPrefix.size()));
  }
  return ErrorAnswer(NotFound("{} {}: there is nothing at this path", request.method, path));
}

HttpApi::Response HttpApi::Health() const {
  switch (phase_.load()) {
    case Phase::kReady:
      return JsonAnswer(200, {{"status", "ready"}});
    case Phase::kStarting:
      return ErrorAnswer(Unavailable("the server is starting"));
    case Phase::kStopping:
      return ErrorAnswer(Unavailable("the server is stopping"));
  }
  return ErrorAnswer(Internal("unknown phase"));
}

HttpApi::Response HttpApi::Faults(const Request& request) {
  const bool is_add = request.method == "POST";
  if (!is_add && !IsRead(request) && request.method != "DELETE") {
    return WrongMethod(request, "GET, POST, DELETE");
  }
  if (parts_.faults == nullptr) return ErrorAnswer(FaultsAreOff());
  if (request.method == "DELETE") {
    return JsonAnswer(200, {{"removed", parts_.faults->RemoveAll()}});
  }
  if (!is_add) {
    Json rules = Json::array();
    for (const FaultRule& rule : parts_.faults->List()) rules.push_back(FaultRuleToJson(rule));
    return JsonAnswer(200,
                      {{"faults", std::move(rules)}, {"calls_held", parts_.faults->held_count()}});
  }
  if (auto refusal = CheckBody(request)) return *std::move(refusal);
  const Json json = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return ErrorAnswer(InvalidArgument("the request body is not JSON"));
  StatusOr<FaultRule> rule = FaultRuleFromJson(json);
  if (rule.ok()) rule = parts_.faults->Add(*std::move(rule));
  if (!rule.ok()) return ErrorAnswer(rule.status());
  if (parts_.log != nullptr) {
    parts_.log->Warn("fault_rule_added", {{"id", rule->id}, {"method", rule->method}});
  }
  return JsonAnswer(200, FaultRuleToJson(*rule));
}

HttpApi::Response HttpApi::FaultById(const Request& request, std::string_view id) {
  if (request.method != "DELETE") return WrongMethod(request, "DELETE");
  if (parts_.faults == nullptr) return ErrorAnswer(FaultsAreOff());
  const auto number = ParseNumber<std::uint64_t>(id);
  if (!number) {
    return ErrorAnswer(InvalidArgument("\"{}\" is not the id of a fault rule", id));
  }
  if (const Status status = parts_.faults->Remove(*number); !status.ok()) {
    return ErrorAnswer(status);
  }
  return JsonAnswer(200, {{"removed", 1}});
}

bool HttpApi::TakeSlot(HttpResponder* responder) {
  if (open_.fetch_add(1) < kAdminRequestsOpenMax) return true;
  Done(responder, ErrorAnswer(ResourceExhausted("{} admin requests are under way, the maximum",
                                                kAdminRequestsOpenMax)));
  return false;
}

void HttpApi::Done(HttpResponder* responder, Response response) {
  open_.fetch_sub(1);
  responder->Send(std::move(response));
}

void HttpApi::Metrics(HttpResponder responder) {
  if (!TakeSlot(&responder)) return;
  // The lane only hands over the figures; the text, which can be long, is
  // written elsewhere.
  const auto shared = std::make_shared<HttpResponder>(std::move(responder));
  parts_.engine->Submit(engine::CollectStats{}, [this, shared](engine::Reply reply) {
    const auto stats = std::make_shared<engine::Reply>(std::move(reply));
    parts_.worker->Post([this, shared, stats] {
      if (!stats->ok()) {
        Done(shared.get(), ErrorAnswer(stats->status()));
        return;
      }
      MetricsInput input = parts_.figures();
      input.engine = parts_.engine->Metrics();
      input.queues = std::get<std::vector<engine::NamedStats>>(std::move(**stats));
      Response response;
      response.content_type = std::string(kMetricsContentType);
      response.body = RenderMetrics(std::move(input));
      Done(shared.get(), std::move(response));
    });
  });
}

void HttpApi::Explain(std::string_view name, HttpResponder responder) {
  if (!TakeSlot(&responder)) return;
  const std::optional<std::string> decoded = DecodePercent(name);
  const StatusOr<TaskName> task =
      decoded ? TaskName::Parse(*decoded)
              : InvalidArgument("\"{}\" has a % without two hexadecimal digits", name);
  if (!task.ok()) {
    Done(&responder, ErrorAnswer(task.status()));
    return;
  }
  const auto shared = std::make_shared<HttpResponder>(std::move(responder));
  const auto asked = std::make_shared<const TaskName>(*std::move(task));
  parts_.engine->Submit(engine::ExplainTask{*asked}, [this, shared, asked](engine::Reply reply) {
    const auto answer = std::make_shared<engine::Reply>(std::move(reply));
    parts_.worker->Post([this, shared, asked, answer] {
      if (!answer->ok()) {
        Done(shared.get(), ErrorAnswer(answer->status()));
        return;
      }
      const auto& explanation = std::get<core::Explanation>(**answer);
      Done(shared.get(),
           JsonAnswer(200, ExplanationToJson(*asked, explanation, parts_.clock->Now())));
    });
  });
}

void HttpApi::DeadLetters(const Request& request, HttpResponder responder) {
  if (!TakeSlot(&responder)) return;
  const std::string_view verb = std::string_view(request.path).substr(kDeadLettersPrefix.size());
  StatusOr<DeadLetterRequest> asked = ParseDeadLetterRequest(verb, request.body);
  if (!asked.ok()) return Done(&responder, ErrorAnswer(asked.status()));
  const auto shared = std::make_shared<HttpResponder>(std::move(responder));
  RunDeadLetters(*std::move(asked), *parts_.engine, *parts_.worker,
                 [this, shared](Response response) { Done(shared.get(), std::move(response)); });
}

void HttpApi::Backup(const Request& request, HttpResponder responder) {
  if (!TakeSlot(&responder)) return;
  // It writes files wherever the caller says, with the server's rights.
  if (!IsLoopbackPeer(request.peer)) {
    Done(&responder, ErrorAnswer(Status(absl::StatusCode::kPermissionDenied,
                                        "a backup can only be asked for from the server's own "
                                        "machine, through a loopback address")));
    return;
  }
  const StatusOr<Json> json = ParseObject(request.body, {"dir"});
  if (!json.ok()) {
    Done(&responder, ErrorAnswer(json.status()));
    return;
  }
  const std::string dir =
      json->contains("dir") && (*json)["dir"].is_string() ? (*json)["dir"].get<std::string>() : "";
  if (!dir.starts_with('/') || dir.find('\0') != std::string::npos) {
    Done(&responder, ErrorAnswer(InvalidArgument("dir: must be an absolute path")));
    return;
  }
  if (is_backup_running_.exchange(true)) {
    Done(&responder, ErrorAnswer(Aborted("another backup is being written; try again later")));
    return;
  }
  const auto shared = std::make_shared<HttpResponder>(std::move(responder));
  parts_.backup_worker->Post([this, shared, dir] {
    const Status status = parts_.engine->Backup(dir);
    is_backup_running_ = false;
    if (parts_.log != nullptr && status.ok()) parts_.log->Info("backup_written", {{"dir", dir}});
    Done(shared.get(), status.ok() ? JsonAnswer(200, {{"dir", dir}}) : ErrorAnswer(status));
  });
}

}  // namespace sluice::admin
