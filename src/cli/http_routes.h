// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who answers which path over HTTP/1.1: the REST APIs and the token issuer their own, the
// admin API the rest. Threading: as its parts. Ownership: all outlive this.

#include <utility>

#include "admin/http_api.h"
#include "admin/issuer_api.h"
#include "front/rest/rest_api.h"

namespace sluice::cli {

class HttpRoutes final : public front::net::HttpHandler {
 public:
  HttpRoutes(front::RestApi* rest, admin::IssuerApi* issuer, admin::HttpApi* admin)
      : rest_(rest), issuer_(issuer), admin_(admin) {}

  void Handle(front::net::HttpRequest request, front::net::HttpResponder responder) override {
    if (rest_->Owns(request.path)) {
      rest_->Handle(std::move(request), std::move(responder));
    } else if (admin::IssuerApi::Owns(request.path)) {
      issuer_->Handle(std::move(request), std::move(responder));
    } else {
      admin_->Handle(std::move(request), std::move(responder));
    }
  }

 private:
  front::RestApi* const rest_;
  admin::IssuerApi* const issuer_;
  admin::HttpApi* const admin_;
};

}  // namespace sluice::cli
