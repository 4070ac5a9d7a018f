// SPDX-License-Identifier: Apache-2.0
#include "front_targets.h"

#include <google/cloud/tasks/v2/cloudtasks.pb.h>
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <optional>
#include <utility>

#include "admin/config.h"
#include "base/text.h"
#include "front/net/connection_peek.h"
#include "front/net/http_header_rules.h"
#include "front/rest/json_text.h"
#include "front/rest/tasks_rest.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/filter.h"
#include "front/tasks/page_token.h"
#include "front/tasks/testing/service_fixture.h"
#include "nlohmann/json.hpp"

namespace sluice::fuzz {
namespace {

namespace v2 = google::cloud::tasks::v2;

class Answered final : public front::net::HttpResponder::Target {
 public:
  void Answer(front::net::HttpResponse response) override { answer = std::move(response); }
  std::optional<front::net::HttpResponse> answer;
};

// One service for all inputs: state that one leaves is what the next one meets.
class Rest {
 public:
  Rest() {
    front::AddTasks(&v2_, &api_);
    front::AddTasks(&v2beta3_, &api_);
  }
  front::RestApi& api() { return api_; }

 private:
  front::testing::MachineEngine engine_;
  front::testing::HarnessClock clock_{engine_};
  front::TasksServiceV2 v2_{{&engine_, &clock_, nullptr, nullptr}};
  front::TasksServiceV2Beta3 v2beta3_{{&engine_, &clock_, nullptr, nullptr}};
  env::InlineExecutor worker_;
  front::RestApi api_{&worker_};
};

std::string_view TakeUntil(std::string_view* rest, char end) {
  const std::size_t at = rest->find(end);
  const std::string_view taken = rest->substr(0, at);
  *rest = at == std::string_view::npos ? std::string_view() : rest->substr(at + 1);
  return taken;
}

// "METHOD path?query" LF, "Name: value" LF ..., LF, body.
front::net::HttpRequest ReadRequest(std::string_view input) {
  front::net::HttpRequest request;
  std::string_view line = TakeUntil(&input, '\n');
  request.method = TakeUntil(&line, ' ');
  request.path = TakeUntil(&line, '?');
  request.query = line;
  while (!input.empty()) {
    line = TakeUntil(&input, '\n');
    if (line.empty()) break;
    const std::string_view name = TakeUntil(&line, ':');
    request.headers.push_back({std::string(name), std::string(line.substr(line.empty() ? 0 : 1))});
  }
  request.body = input;
  return request;
}

}  // namespace

void FuzzPeek(std::string_view input) {
  using front::net::ClassifyConnection;
  using front::net::PeekVerdict;
  const PeekVerdict verdict = ClassifyConnection(input);
  SLUICE_CHECK(verdict != PeekVerdict::kNeedMore || input.size() < front::net::kPeekBytesMax,
               "enough bytes decide");
  // More bytes never turn one decision into another.
  for (std::size_t size = input.size() / 2; size < input.size(); size = size * 2 + 1) {
    const PeekVerdict early = ClassifyConnection(input.substr(0, size));
    SLUICE_CHECK(early == PeekVerdict::kNeedMore || early == verdict, "a decision stands");
  }
}

void FuzzRest(std::string_view input) {
  static Rest rest;
  front::net::HttpRequest request = ReadRequest(input);
  if (front::net::FindHeaderFault(request, false)) return;
  auto target = std::make_shared<Answered>();
  rest.api().Handle(std::move(request), front::net::HttpResponder(target));
  SLUICE_CHECK(target->answer.has_value(), "every request is answered");
  const int status = target->answer->status;
  SLUICE_CHECK(status != 500, target->answer->body);
  const auto body = nlohmann::json::parse(target->answer->body);
  SLUICE_CHECK(status == 200 || body.at("error").at("code") == status,
               "an error has Google's body");
}

void FuzzJson(std::string_view input) {
  v2::CreateTaskRequest first;
  if (!front::ParseJson(input, &first).ok()) return;
  const std::string text = front::JsonResponse(first, {}).body;
  v2::CreateTaskRequest again;
  const Status status = front::ParseJson(text, &again);
  SLUICE_CHECK(status.ok(), Message(status));
  SLUICE_CHECK(google::protobuf::util::MessageDifferencer::Equals(first, again),
               "JSON out is JSON in");
}

void FuzzFieldMask(std::string_view input) {
  google::protobuf::FieldMask mask;
  while (!input.empty()) mask.add_paths(std::string(TakeUntil(&input, ',')));
  const auto selection =
      front::FieldSelection::Resolve(mask, *v2::Queue::descriptor(), "update_mask");
  if (!selection.ok()) return;
  v2::Queue queue;
  queue.mutable_rate_limits()->set_max_dispatches_per_second(1);
  queue.mutable_retry_config()->mutable_min_backoff()->set_seconds(1);
  selection->Trim(&queue);
  v2::Queue once = queue;
  selection->Trim(&queue);
  SLUICE_CHECK(google::protobuf::util::MessageDifferencer::Equals(once, queue),
               "what is trimmed stays");
}

void FuzzFilter(std::string_view input) {
  const auto filter = front::Filter::Parse(input, *v2::Queue::descriptor());
  if (!filter.ok()) return;
  v2::Queue queue;
  static_cast<void>(filter->Matches(queue));
  queue.set_name("projects/p/locations/l/queues/q");
  queue.set_state(v2::Queue::PAUSED);
  queue.mutable_rate_limits()->set_max_dispatches_per_second(5);
  static_cast<void>(filter->Matches(queue));
}

void FuzzPageToken(std::string_view input) {
  constexpr std::size_t kCursorBytesMax = 600;  // longer than any id a list goes by
  const front::Listing listing{"ListTasks", "projects/p/locations/l/queues/q", "f"};
  const Time now = absl::FromUnixSeconds(2'000'000'000);
  static_cast<void>(front::ReadPageToken(listing, input, now));
  if (input.size() > kCursorBytesMax) return;
  const auto mine = front::ReadPageToken(listing, front::MakePageToken(listing, input, now), now);
  SLUICE_CHECK(mine.ok() && *mine == input, "a token gives its cursor back");
}

void FuzzConfig(std::string_view input) {
  const auto config = admin::ParseConfig(input, "fuzz.yaml");
  if (!config.ok()) {
    SLUICE_CHECK(!Message(config.status()).empty(), "a mistake is described");
    return;
  }
  admin::ServerOptions options;
  static_cast<void>(admin::ApplySettings(*config, &options));
  static_cast<void>(admin::CheckQueues(*config, core::TaskLimits{}));
}

}  // namespace sluice::fuzz
