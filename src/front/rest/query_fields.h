// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fields of a request message that arrive as text in a URL: path variables and
// query parameters. Names may be those of the proto or of JSON, with '.' between
// levels; a repeated field is given once for each value.
//
// Threading: pure. Failure: INVALID_ARGUMENT naming the field and the value.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "google/protobuf/message.h"

namespace sluice::front {

struct QueryParameter {
  std::string name;
  std::string value;
};

/// Splits and decodes a query string. Errors: INVALID_ARGUMENT for a broken escape and
/// for bytes that are no UTF-8, which no message could hold.
[[nodiscard]] StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query);

/// Sets a field of type string, bool, 32 or 64 bit integer, enum (by name or
/// number), or a field mask (paths separated by commas).
[[nodiscard]] Status SetFieldFromText(google::protobuf::Message* message, std::string_view path,
                                      std::string_view value);

}  // namespace sluice::front
