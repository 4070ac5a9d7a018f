// SPDX-License-Identifier: Apache-2.0
#pragma once

// The issuer's public side over HTTP: its discovery document and its keys, for handlers
// that verify the tokens of their tasks (spec 4.10). Open to everybody, as such documents
// are.
//
// Threading: Handle does not block; the first question for keys makes one on the worker.
// Ownership: issuer and worker outlive it.

#include <string_view>

#include "dispatch/tokens/token_issuer.h"
#include "env/executor.h"
#include "front/net/http.h"

namespace sluice::admin {

class IssuerApi final : public front::net::HttpHandler {
 public:
  IssuerApi(dispatch::TokenIssuer* issuer, env::Executor* worker)
      : issuer_(issuer), worker_(worker) {}

  [[nodiscard]] static bool Owns(std::string_view path) {
    return path == dispatch::kDiscoveryPath || path == dispatch::kKeysPath;
  }
  /// Requires: Owns(request.path).
  void Handle(front::net::HttpRequest request, front::net::HttpResponder responder) override;

 private:
  dispatch::TokenIssuer* const issuer_;
  env::Executor* const worker_;
};

}  // namespace sluice::admin
