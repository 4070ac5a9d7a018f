// SPDX-License-Identifier: Apache-2.0
#pragma once

// The filter of a subscription (spec pubsub 3.6): which messages it wants, said about
// their attributes and nothing else.
//
//   attributes:lang AND -(attributes.name = "com" OR hasPrefix(attributes.name, "co"))
//
// The words and their meaning:
//   attributes:K             the message has the attribute K, also an empty one
//   attributes.K = "V"       it has K, and its value is V
//   attributes.K != "V"      the opposite of `=`: also true without K
//   hasPrefix(attributes.K, "V")   it has K, and the value begins with V
//   NOT x, -x                bind tightest, and may be repeated
//   AND, OR                  in capitals; both in one row need parentheses
// A key that is not made of ASCII letters, digits, `_` and `-` is written as a string.
// Strings stand in double quotes with \\ \" \n \t \r \xHH \OOO \uHHHH \UHHHHHHHH,
// where the numbers are Unicode characters.
//
// Threading: immutable after Parse. Failure: Parse refuses, Matches cannot fail.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"

namespace sluice::core {

inline constexpr std::size_t kFilterBytesMax = 256;

class MessageFilter {
 public:
  /// The value of an attribute by its key, or nothing.
  using Attributes = absl::FunctionRef<std::optional<std::string_view>(std::string_view key)>;

  /// Matches everything, as the empty text does.
  MessageFilter() = default;

  /// Errors: INVALID_ARGUMENT, with the byte at which the text stops being a filter.
  static StatusOr<MessageFilter> Parse(std::string_view text);

  [[nodiscard]] bool matches_everything() const { return steps_.empty(); }
  [[nodiscard]] bool Matches(Attributes attributes) const;

 private:
  friend class FilterParser;  // in filter.cc

  // The filter in postfix order: conditions push a truth, operators replace the topmost.
  enum class Operation : std::uint8_t { kHas, kEquals, kHasPrefix, kNot, kAnd, kOr };
  struct Step {
    Operation operation;
    std::string key;    // of a condition
    std::string value;  // of kEquals and kHasPrefix
  };
  static bool Holds(const Step& condition, Attributes attributes);

  std::vector<Step> steps_;
};

}  // namespace sluice::core
