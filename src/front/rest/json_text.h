// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages as JSON the way Google's REST front writes and reads it: protobuf's
// mapping, Google's error body, and the query parameters every method takes.
//
// Threading: pure. Failure: INVALID_ARGUMENT for what a client sent.

#include <string>
#include <string_view>

#include "base/status.h"
#include "front/net/http.h"
#include "front/rest/query_fields.h"
#include "google/protobuf/message.h"

namespace sluice::front {

/// How a client wants its answer.
struct JsonStyle {
  bool has_enum_numbers = false;  // $alt=json;enum-encoding=int
  bool is_pretty = true;          // as Google's, unless prettyPrint=false
};

/// Takes a parameter that every method has. True when it was one; those for
/// credentials, quotas and tracing have no effect here.
/// Errors: INVALID_ARGUMENT for another format than JSON, for partial responses
/// (`fields`) and for JSONP (`callback`), which are not served.
StatusOr<bool> TakeStandardParameter(const QueryParameter& parameter, JsonStyle* style);

/// Replaces `message` by what `json` says. Unknown fields are errors.
Status ParseJson(std::string_view json, google::protobuf::Message* message);

[[nodiscard]] net::HttpResponse JsonResponse(const google::protobuf::Message& message,
                                             const JsonStyle& style);
[[nodiscard]] net::HttpResponse JsonError(const Status& status, const JsonStyle& style);

}  // namespace sluice::front
