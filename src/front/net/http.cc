// SPDX-License-Identifier: Apache-2.0
#include "front/net/http.h"

#include <algorithm>
#include <utility>

#include "base/http_headers.h"
#include "base/status.h"

namespace sluice::front::net {

const std::string* HttpRequest::FindHeader(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [name](const HttpHeader& header) {
    return IsSameHeader(header.name, name);
  });
  return found == headers.end() ? nullptr : &found->value;
}

HttpResponder::HttpResponder(std::shared_ptr<Target> target) : target_(std::move(target)) {}

HttpResponder::~HttpResponder() {
  if (target_) target_->Answer(PlainTextResponse(500, "the request was dropped without an answer"));
}

void HttpResponder::Send(HttpResponse response) {
  SLUICE_CHECK(target_ != nullptr, "an HTTP request was answered twice");
  std::exchange(target_, nullptr)->Answer(std::move(response));
}

HttpResponse PlainTextResponse(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.append(text).push_back('\n');
  return response;
}

}  // namespace sluice::front::net
