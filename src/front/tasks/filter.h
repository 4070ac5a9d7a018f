// SPDX-License-Identifier: Apache-2.0
#pragma once

// The filter of a listing (../shared/spec: cloud tasks 1.10): conditions on the
// fields of a resource in the language of Cloud Logging, over any protobuf message.
//
//   state=PAUSED AND (rate_limits.max_dispatches_per_second<10 OR name:"mail")
//   -retryConfig.maxAttempts=-1
//
// Words and their meaning:
//   a condition is FIELD OPERATOR VALUE; operators are = != < <= > >= and `:`
//   conditions side by side must all hold, as with AND; OR binds tighter than
//   AND; NOT or `-` stands before a condition or a parenthesis; keywords are in
//   capitals
//   `:` on a string asks for a part of it; FIELD:* asks whether the field is set
//   text is compared without regard to the case of ASCII letters; times are
//   RFC 3339, durations like 3.5s, enums by name or number
//   a condition on a field inside an absent message is false, also with !=
//
// Left out of the language, and refused: text without a field, regular
// expressions, lists of values, functions.
//
// Threading: immutable after Parse.

#include <memory>
#include <string_view>

#include "base/status.h"
#include "google/protobuf/message.h"

namespace sluice::front {

inline constexpr std::size_t kFilterBytesMax = 20'000;
inline constexpr int kFilterDepthMax = 50;  // parentheses within parentheses

class Filter {
 public:
  /// Matches everything.
  Filter();
  ~Filter();
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;

  /// Errors: INVALID_ARGUMENT with the position of what is not understood.
  static StatusOr<Filter> Parse(std::string_view text, const google::protobuf::Descriptor& message);

  [[nodiscard]] bool matches_everything() const { return root_ == nullptr; }

  /// Requires: `message` is of the type given to Parse.
  [[nodiscard]] bool Matches(const google::protobuf::Message& message) const;

  /// True when a condition is about the field `name` of the message, or in it.
  [[nodiscard]] bool Touches(std::string_view name) const;

  struct Node;  // in filter.cc

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace sluice::front
