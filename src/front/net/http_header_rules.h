// SPDX-License-Identifier: Apache-2.0
#pragma once

// Headers that two readers of one connection could understand differently: where a
// request ends, and whom it is for. A proxy in front of us that reads such a request
// its own way would let one client's bytes pass as another's request, so they are
// refused, and the connection ends. Rules: RFC 9112 sections 3.2, 5.1, 6.1 and 6.3;
// RFC 9110 section 5.
//
// Threading: pure. Failure: the fault found first.

#include <optional>
#include <string>

#include "front/net/http.h"

namespace sluice::front::net {

struct HeaderFault {
  int status = 400;
  std::string text;
};

/// What is wrong with the header of `request`; nothing when it has one meaning.
[[nodiscard]] std::optional<HeaderFault> FindHeaderFault(const HttpRequest& request,
                                                         bool is_http_1_0);

}  // namespace sluice::front::net
