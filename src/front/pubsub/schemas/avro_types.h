// SPDX-License-Identifier: Apache-2.0
#pragma once

// The types of an Avro definition as plain values, and the two walks of a message along
// them: one for each encoding.
//
// Threading: immutable once read; any thread.
// Failure: INVALID_ARGUMENT naming the path into the message and what was expected there.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"

namespace sluice::front {

enum class AvroKind {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kRecord,
  kEnum,
  kFixed,
  kArray,
  kMap,
  kUnion
};

struct AvroType {
  AvroKind kind = AvroKind::kNull;
  std::string name;                // full, as a union's JSON says which branch it holds
  std::vector<std::string> words;  // fields of a record, symbols of an enum
  std::vector<std::size_t> parts;  // types of fields, branches, or the items or values
  std::size_t bytes = 0;           // of a fixed
  /// Where a field, symbol or branch stands, by name: a message may ask a million times.
  absl::flat_hash_map<std::string, std::size_t> positions;
};

/// The first is the type of a message; `parts` are positions in here.
using AvroTypes = std::vector<AvroType>;

/// Requires: `definition` has at most kSchemaBytesMax bytes. Errors: INVALID_ARGUMENT.
StatusOr<AvroTypes> ReadAvroTypes(std::string_view definition);

/// Avro's binary encoding without a header, all of `data`.
Status ValidateAvroBinary(const AvroTypes& types, std::string_view data);

/// Avro's JSON encoding: every field is there and none besides, and a value of a union
/// names its branch. Whole numbers may be written 1.0, and stand for floats and doubles.
Status ValidateAvroJson(const AvroTypes& types, std::string_view data);

/// Where a walk stands in a message: `.a[3].b`. Entered by scope.
class AvroPath {
 public:
  class Scope {
   public:
    Scope(AvroPath* path, std::string_view step) : path_(*path), length_(path->text_.size()) {
      path_.text_ += step;
      ++path_.depth_;
    }
    ~Scope() {
      path_.text_.resize(length_);
      --path_.depth_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    AvroPath& path_;
    std::size_t length_;
  };

  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] Status Error(std::string_view what) const {
    return InvalidArgument("the message does not match its schema at {}: {}",
                           text_.empty() ? "its top" : text_, what);
  }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace sluice::front
