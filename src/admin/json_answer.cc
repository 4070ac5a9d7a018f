// SPDX-License-Identifier: Apache-2.0
#include "admin/json_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "admin/value_text.h"
#include "front/errors.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;

}  // namespace

front::net::HttpResponse JsonAnswer(int http_status, const Json& body) {
  front::net::HttpResponse response;
  response.status = http_status;
  response.body = body.dump(2, ' ', false, Json::error_handler_t::replace);
  response.body += '\n';
  return response;
}

front::net::HttpResponse ErrorAnswer(const Status& status) {
  return ErrorAnswer(front::HttpStatusOf(status.code()), front::NameOf(status.code()),
                     front::ShownMessage(status));
}

front::net::HttpResponse ErrorAnswer(int http_status, std::string_view name,
                                     std::string_view message) {
  return JsonAnswer(http_status, {{"error",
                                   {{"code", http_status},
                                    {"message", std::string(message)},
                                    {"status", std::string(name)}}}});
}

StatusOr<Json> ParseObject(std::string_view body, std::initializer_list<std::string_view> known) {
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("the request body is not JSON");
  if (!json.is_object()) return InvalidArgument("the request body must be a JSON object");
  for (const auto& [member, value] : json.items()) {
    if (std::find(known.begin(), known.end(), member) != known.end()) continue;
    const std::string_view nearest = Nearest(member, known);
    return InvalidArgument("{}: unknown member{}", member,
                           nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  return json;
}

}  // namespace sluice::admin
