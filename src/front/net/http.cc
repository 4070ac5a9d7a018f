// SPDX-License-Identifier: Apache-2.0
#include "front/net/http.h"

#include <algorithm>
#include <utility>

#include "base/http_headers.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace sluice::front::net {
namespace {

// Of the statuses this layer gives.
std::string_view CodeNameOf(int http_status) {
  if (http_status == 501) return "UNIMPLEMENTED";
  if (http_status == 503) return "UNAVAILABLE";
  return http_status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
}

}  // namespace

const std::string* HttpRequest::FindHeader(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [name](const HttpHeader& header) {
    return IsSameHeader(header.name, name);
  });
  return found == headers.end() ? nullptr : &found->value;
}

HttpResponder::HttpResponder(std::shared_ptr<Target> target) : target_(std::move(target)) {}

HttpResponder::~HttpResponder() {
  if (target_) target_->Answer(ErrorResponse(500, "the request was dropped without an answer"));
}

void HttpResponder::Send(HttpResponse response) {
  SLUICE_CHECK(target_ != nullptr, "an HTTP request was answered twice");
  std::exchange(target_, nullptr)->Answer(std::move(response));
}

HttpResponse ErrorResponse(int status, std::string_view text) {
  nlohmann::ordered_json error;
  error["code"] = status;
  error["message"] = text;
  error["status"] = CodeNameOf(status);
  nlohmann::ordered_json body;
  body["error"] = std::move(error);
  HttpResponse response;
  response.status = status;
  response.body = body.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return response;
}

}  // namespace sluice::front::net
