// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which fields of a resource an update names (../shared/spec: cloud tasks 1.8): a
// path to a sub-message stands for everything in it, a path to a leaf for that
// leaf; no path at all, or `*`, stands for every field.
//
// It does not copy anything: a codec asks for each field it knows whether the
// update names it, and then takes the value or the default. A read mask (spec
// 2.10) picks fields of an answer by the same rules.
//
// Threading: immutable after Resolve.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/message.h"

namespace sluice::front {

class FieldSelection {
 public:
  /// Every field.
  FieldSelection() = default;

  /// Paths may be in snake_case or lowerCamelCase. Errors: INVALID_ARGUMENT for
  /// a path that leads to no field of `message`, naming `field`.
  static StatusOr<FieldSelection> Resolve(const google::protobuf::FieldMask& mask,
                                          const google::protobuf::Descriptor& message,
                                          std::string_view field);

  /// True when the update names `path` (snake_case) or something it lies in.
  [[nodiscard]] bool Includes(std::string_view path) const;
  /// True when the update names `path`, something it lies in, or a part of it.
  [[nodiscard]] bool Touches(std::string_view path) const;

  /// Clears what is not named. Requires: `message` is of the type given to Resolve.
  void Trim(google::protobuf::Message* message) const;

 private:
  std::vector<std::string> paths_;  // snake_case; empty: everything
};

}  // namespace sluice::front
