// SPDX-License-Identifier: Apache-2.0
#include "admin/dead_letters.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "admin/json_answer.h"
#include "admin/value_text.h"
#include "base/text.h"
#include "engine/engine.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;
using Verb = DeadLetterRequest::Verb;

// Sent again or deleted in one step.
constexpr std::size_t kStepLetters = 64;
// New names told in an answer; the counts are always whole.
constexpr std::size_t kNamesToldMax = 1000;

// --- The request ---

StatusOr<std::string> Text(const Json& json, const char* key) {
  if (!json.contains(key)) return std::string();
  if (!json[key].is_string()) return InvalidArgument("{}: must be a string", key);
  return json[key].get<std::string>();
}

StatusOr<bool> Flag(const Json& json, const char* key) {
  if (!json.contains(key)) return false;
  if (!json[key].is_boolean()) return InvalidArgument("{}: must be true or false", key);
  return json[key].get<bool>();
}

Status ReadInstant(const Json& json, const char* key, std::optional<Time>* out) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, Text(json, key));
  if (text.empty()) return absl::OkStatus();
  Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) {
    return InvalidArgument("{}: \"{}\" is not a time such as 2030-01-31T10:00:00Z", key, text);
  }
  *out = time;
  return absl::OkStatus();
}

Status ReadIds(const Json& json, std::vector<core::Sequence>* ids) {
  if (!json.contains("ids")) return absl::OkStatus();
  const Json& list = json["ids"];
  if (!list.is_array() || list.empty() || list.size() > kDeadLetterIdsMax) {
    return InvalidArgument("ids: must be a list of 1 to {} ids", kDeadLetterIdsMax);
  }
  for (const Json& item : list) {
    const auto id = item.is_string() ? ParseNumber<core::Sequence>(item.get<std::string>())
                                     : std::optional<core::Sequence>();
    if (!id) return InvalidArgument("ids: {} is not the id of a dead letter", item.dump());
    if (std::find(ids->begin(), ids->end(), *id) != ids->end()) {
      return InvalidArgument("ids: \"{}\" is given twice", *id);
    }
    ids->push_back(*id);
  }
  return absl::OkStatus();
}

std::string TokenOf(const core::DeadLetterCursor& cursor) {
  return fmt::format("{}.{}", ToMicros(cursor.end_time), cursor.sequence);
}

Status ReadPage(const Json& json, DeadLetterRequest* request) {
  request->selection.count_max = kDeadLettersPageDefault;
  if (json.contains("page_size")) {
    const Json& size = json["page_size"];
    if (!size.is_number_integer() || size < 1 || size > kDeadLettersPageMax) {
      return InvalidArgument("page_size: {} is outside 1 to {}", size.dump(), kDeadLettersPageMax);
    }
    request->selection.count_max = size.get<std::size_t>();
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string token, Text(json, "page_token"));
  if (!token.empty()) {
    const std::size_t dot = std::min(token.find('.'), token.size() - 1);
    const auto micros = ParseNumber<std::int64_t>(std::string_view(token).substr(0, dot));
    const auto sequence = ParseNumber<core::Sequence>(std::string_view(token).substr(dot + 1));
    if (!micros || !sequence) {
      return InvalidArgument("page_token: \"{}\" was not given by this server", token);
    }
    request->selection.after = core::DeadLetterCursor{FromMicros(*micros), *sequence};
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string view, Text(json, "view"));
  if (!view.empty() && view != "BASIC" && view != "FULL") {
    return InvalidArgument("view: \"{}\" is neither BASIC nor FULL", view);
  }
  request->is_full = view == "FULL";
  return absl::OkStatus();
}

// --- The answer ---

Json AttemptToJson(const core::PastAttempt& attempt) {
  const double seconds = absl::ToDoubleSeconds(attempt.end_time - attempt.dispatch_time);
  Json json = {{"dispatch_time", InstantText(attempt.dispatch_time)},
               {"latency_seconds", seconds},
               {"code", attempt.code}};
  if (attempt.http_status != 0) json["http_status"] = attempt.http_status;
  return json;
}

Json LetterToJson(const QueueName& queue, const core::DeadLetter& letter, bool is_full) {
  const core::TaskBody& body = *letter.task.body;
  const core::TaskProgress& progress = letter.task.progress;
  Json attempts = Json::array();
  for (const core::PastAttempt& attempt : progress.past) attempts.push_back(AttemptToJson(attempt));
  Json json = {{"id", std::to_string(body.sequence)},
               {"name", TaskName{queue, body.task_id}.ToString()},
               {"create_time", InstantText(body.create_time)},
               {"end_time", InstantText(letter.end_time)},
               {"dispatch_count", progress.dispatch_count},
               {"response_count", progress.response_count},
               {"method", core::MethodName(body.request.method)},
               {"url", body.request.url},
               {"attempts", std::move(attempts)}};
  if (progress.last_attempt) json["last_message"] = progress.last_attempt->status.message;
  if (!is_full) return json;
  Json headers = Json::object();
  for (const core::Header& header : body.request.headers) headers[header.name] = header.value;
  json["headers"] = std::move(headers);
  json["body"] = absl::Base64Escape(body.request.body);
  return json;
}

Json IdsToJson(const std::vector<core::Sequence>& sequences) {
  Json ids = Json::array();
  for (const core::Sequence sequence : sequences) ids.push_back(std::to_string(sequence));
  return ids;
}

// --- The walk ---

// One request under way. Keeps itself alive through the steps.
class Walk : public std::enable_shared_from_this<Walk> {
 public:
  Walk(DeadLetterRequest request, engine::Engine& engine, env::Executor& worker,
       std::function<void(front::net::HttpResponse)> answer)
      : request_(std::move(request)),
        engine_(engine),
        worker_(worker),
        answer_(std::move(answer)) {}

  void Step() {
    engine_.Submit(Command(), [self = shared_from_this()](engine::Reply reply) {
      self->OnReply(std::move(reply));
    });
  }

 private:
  [[nodiscard]] engine::Command Command() const {
    switch (request_.verb) {
      case Verb::kList:
        return engine::ListDeadLetters{request_.queue, request_.selection};
      case Verb::kRedrive:
        return engine::RedriveDeadLetters{request_.queue, request_.selection};
      case Verb::kDelete:
        return engine::DeleteDeadLetters{request_.queue, request_.selection};
    }
    CheckFailed(__FILE__, __LINE__, "verb", "not one of the three");
  }

  // On the lane: the next step at once, everything else elsewhere.
  void OnReply(engine::Reply reply) {
    if (reply.ok()) {
      Add(std::get<core::DeadLetterStep>(*reply));
      if (request_.verb != Verb::kList && total_.next) {
        request_.selection.after = total_.next;
        return Step();
      }
    }
    worker_.Post([self = shared_from_this(), status = reply.status()] { self->Answer(status); });
  }

  void Add(core::DeadLetterStep& step) {
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    sent_count_ += step.sent.size();
    deleted_count_ += step.deleted.size();
    append(total_.letters, step.letters);
    if (total_.sent.size() < kNamesToldMax) append(total_.sent, step.sent);
    append(total_.not_found, step.not_found);
    append(total_.taken, step.taken);
    // A task that is sent again and gives up at once is another one.
    core::Sequence& end = request_.selection.sequence_before;
    if (end == 0) end = step.sequence_end;
    total_.next = step.next;
  }

  void Answer(const Status& status) {
    if (!status.ok()) {
      const std::uint64_t done = sent_count_ + deleted_count_;
      return answer_(ErrorAnswer(
          done == 0 ? status
                    : Status(status.code(), fmt::format("{} of the dead letters are done, the "
                                                        "rest is as it was: {}",
                                                        done, Message(status)))));
    }
    Json json = Json::object();
    if (request_.verb == Verb::kList) {
      Json letters = Json::array();
      for (const core::DeadLetter& letter : total_.letters) {
        letters.push_back(LetterToJson(request_.queue, letter, request_.is_full));
      }
      json["dead_letters"] = std::move(letters);
      if (total_.next) json["next_page_token"] = TokenOf(*total_.next);
    } else if (request_.verb == Verb::kRedrive) {
      json["redriven"] = sent_count_;
      json["name_taken"] = IdsToJson(total_.taken);
      Json tasks = Json::array();
      for (const core::DeadLetterStep::Sent& sent : total_.sent) {
        tasks.push_back({{"id", std::to_string(sent.sequence)},
                         {"name", TaskName{request_.queue, sent.new_id}.ToString()}});
      }
      json["tasks"] = std::move(tasks);
    } else {
      json["deleted"] = deleted_count_;
    }
    if (!request_.selection.sequences.empty()) json["not_found"] = IdsToJson(total_.not_found);
    answer_(JsonAnswer(200, json));
  }

  DeadLetterRequest request_;
  engine::Engine& engine_;
  env::Executor& worker_;
  const std::function<void(front::net::HttpResponse)> answer_;
  core::DeadLetterStep total_;
  std::uint64_t sent_count_ = 0;
  std::uint64_t deleted_count_ = 0;
};

}  // namespace

StatusOr<DeadLetterRequest> ParseDeadLetterRequest(std::string_view verb, std::string_view body) {
  DeadLetterRequest request;
  if (verb == "redrive") {
    request.verb = Verb::kRedrive;
  } else if (verb == "delete") {
    request.verb = Verb::kDelete;
  } else if (verb != "list") {
    return NotFound("dead-letters:{}: list, redrive and delete exist", verb);
  }
  const bool is_list = request.verb == Verb::kList;
  SLUICE_ASSIGN_OR_RETURN(
      const Json json,
      is_list ? ParseObject(body, {"queue", "ids", "ended_from", "ended_before", "last_status",
                                   "page_size", "page_token", "view"})
              : ParseObject(body,
                            {"queue", "ids", "ended_from", "ended_before", "last_status", "all"}));
  SLUICE_ASSIGN_OR_RETURN(const std::string queue, Text(json, "queue"));
  SLUICE_ASSIGN_OR_RETURN(request.queue, QueueName::Parse(queue));
  core::DeadLetterSelection& selection = request.selection;
  SLUICE_RETURN_IF_ERROR(ReadIds(json, &selection.sequences));
  SLUICE_RETURN_IF_ERROR(ReadInstant(json, "ended_from", &selection.ended_from));
  SLUICE_RETURN_IF_ERROR(ReadInstant(json, "ended_before", &selection.ended_before));
  if (json.contains("last_status")) {
    const Json& status = json["last_status"];
    if (!status.is_number_integer() || status < 0 || status > 999) {
      return InvalidArgument("last_status: {} is no HTTP status, nor 0 for no answer",
                             status.dump());
    }
    selection.last_status = status.get<std::int32_t>();
  }
  const bool has_filter = selection.ended_from || selection.ended_before || selection.last_status;
  const bool has_page = json.contains("page_size") || json.contains("page_token");
  if (!selection.sequences.empty() && (has_filter || has_page)) {
    return InvalidArgument("ids: go alone, without a filter or pages");
  }
  if (is_list) {
    SLUICE_RETURN_IF_ERROR(ReadPage(json, &request));
    return request;
  }
  SLUICE_ASSIGN_OR_RETURN(const bool is_all, Flag(json, "all"));
  if (is_all == (has_filter || !selection.sequences.empty())) {
    return InvalidArgument("say which dead letters: ids, a filter, or all, one of them");
  }
  selection.count_max = kStepLetters;
  return request;
}

void RunDeadLetters(DeadLetterRequest request, engine::Engine& engine, env::Executor& worker,
                    std::function<void(front::net::HttpResponse)> answer) {
  std::make_shared<Walk>(std::move(request), engine, worker, std::move(answer))->Step();
}

}  // namespace sluice::admin
