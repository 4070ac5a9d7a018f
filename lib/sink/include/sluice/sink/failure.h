// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why something failed, as a chain from the outermost report down to the root
// cause. A link may carry a status code or not; what a create does next depends on
// two different look-ups over the whole chain.
//
// Threading: a value.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"

namespace sluice::sink {

class Failure {
 public:
  struct Link {
    std::optional<absl::StatusCode> code;
    std::string message;
  };

  /// One link with the status's code and message. `status` must not be OK.
  explicit Failure(const Status& status);
  Failure(std::optional<absl::StatusCode> code, std::string message);

  /// The same failure seen from further out.
  [[nodiscard]] Failure WrappedIn(std::string message,
                                  std::optional<absl::StatusCode> code = std::nullopt) const;

  /// Outermost first; never empty.
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }

  /// The status of the outermost link that carries one.
  [[nodiscard]] std::optional<absl::StatusCode> code() const;
  /// The first UNAVAILABLE, DEADLINE_EXCEEDED or RESOURCE_EXHAUSTED anywhere.
  [[nodiscard]] std::optional<absl::StatusCode> transient() const;
  /// The canonical name of `code()`, or UNCLASSIFIED: the key of error counters.
  [[nodiscard]] std::string class_name() const;

  /// All links in one line, outermost first, each with its code where it has one.
  [[nodiscard]] std::string ToString() const;
  /// As one status: `code()` or UNKNOWN, with the text of `ToString`.
  [[nodiscard]] Status ToStatus() const;

 private:
  std::vector<Link> links_;
};

/// `UNAVAILABLE` and so on, as the public API spells the codes.
[[nodiscard]] std::string StatusCodeName(absl::StatusCode code);

}  // namespace sluice::sink
