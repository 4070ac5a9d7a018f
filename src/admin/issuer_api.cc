// SPDX-License-Identifier: Apache-2.0
#include "admin/issuer_api.h"

#include <memory>
#include <string>
#include <utility>

#include "admin/json_answer.h"

namespace sluice::admin {
namespace {

using front::net::HttpResponse;

HttpResponse Document(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  // Shorter than the time a key is published before it signs.
  response.headers.push_back({"Cache-Control", "public, max-age=3600"});
  return response;
}

HttpResponse Keys(dispatch::TokenIssuer& issuer) {
  StatusOr<std::string> keys = issuer.KeySet();
  return keys.ok() ? Document(*std::move(keys)) : ErrorAnswer(keys.status());
}

}  // namespace

void IssuerApi::Handle(front::net::HttpRequest request, front::net::HttpResponder responder) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused =
        ErrorAnswer(405, "UNIMPLEMENTED",
                    fmt::format("{} {}: this path takes GET only", request.method, request.path));
    refused.headers.push_back({"Allow", "GET"});
    return responder.Send(std::move(refused));
  }
  if (request.path == dispatch::kDiscoveryPath) {
    return responder.Send(Document(issuer_->DiscoveryDocument()));
  }
  auto waiting = std::make_shared<front::net::HttpResponder>(std::move(responder));
  worker_->Post([this, waiting] { waiting->Send(Keys(*issuer_)); });
}

}  // namespace sluice::admin
