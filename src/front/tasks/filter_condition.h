// SPDX-License-Identifier: Apache-2.0
#pragma once

// One condition of a filter: a path to a field, an operator, a value that was
// read by the field's type (filter.h says what they mean).
//
// Threading: immutable after Make.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sluice::front {

enum class FilterOperator : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kHas,
};

class FilterCondition {
 public:
  /// `is_quoted`: the value stood in quotes, so that `*` is a star.
  /// Errors: INVALID_ARGUMENT, without the position in the text.
  static StatusOr<FilterCondition> Make(const google::protobuf::Descriptor& message,
                                        std::string_view path, FilterOperator op,
                                        std::string_view value, bool is_quoted);

  [[nodiscard]] bool Matches(const google::protobuf::Message& message) const;

  /// The field of the message that its path begins with.
  [[nodiscard]] const google::protobuf::FieldDescriptor& root() const { return *path_.front(); }

 private:
  struct AnyValue {};  // FIELD:*
  using Value =
      std::variant<AnyValue, bool, std::int64_t, double, std::string, absl::Time, Duration>;

  Status ResolvePath(const google::protobuf::Descriptor& message, std::string_view path);
  Status ReadValue(std::string_view path, std::string_view value);
  [[nodiscard]] bool MatchesFrom(const google::protobuf::Message& message, std::size_t depth) const;
  [[nodiscard]] bool MatchesElement(const google::protobuf::Message& message,
                                    const google::protobuf::FieldDescriptor& field,
                                    int index) const;

  std::vector<const google::protobuf::FieldDescriptor*> path_;
  FilterOperator op_ = FilterOperator::kEqual;
  Value value_;
};

}  // namespace sluice::front
