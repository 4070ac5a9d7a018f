// SPDX-License-Identifier: Apache-2.0
#pragma once

// The path of a REST method as its google.api.http annotation writes it, for
// example /v2/{name=projects/*/locations/*/queues/*}:pause, and what a request's
// path says about it. Rules: google/api/http.proto. Of its grammar, what the served
// APIs use: literals, variables over literals and `*`, a verb at the end.
//
// Threading: immutable once parsed. Failure: statuses.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::front {

struct PathBinding {
  std::string field;  // path of the field in the request message, "queue.name"
  std::string value;  // percent-decoded
};

class PathTemplate {
 public:
  /// Errors: INVALID_ARGUMENT for a template this class does not understand.
  static StatusOr<PathTemplate> Parse(std::string_view text);

  /// The variables' values when `path` (as sent, without its query) fits the
  /// template; nothing when it does not, a segment that hides a '/', has a
  /// broken escape or is no UTF-8 included.
  [[nodiscard]] std::optional<std::vector<PathBinding>> Match(std::string_view path) const;

 private:
  static constexpr std::string_view kAny = "*";

  struct Variable {
    std::string field;
    std::size_t first = 0;  // segments [first, last)
    std::size_t last = 0;
  };

  std::vector<std::string> segments_;  // a literal, or kAny
  std::vector<Variable> variables_;
  std::string verb_;  // without the ':'; empty when there is none
};

}  // namespace sluice::front
