// SPDX-License-Identifier: Apache-2.0
#pragma once

// An atomic set of absolute changes to the store, in order. The same bytes
// travel in a log frame and, after the frame's sync, go into the store, so
// that replaying a frame is applying its batch again
// (docs/format/store.md describes the encoding).
//
// Threading: a batch belongs to one thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace sluice::store {

class Batch {
 public:
  Batch() = default;
  /// Adopts bytes written by `bytes()`; `Visit` reports damage.
  explicit Batch(std::string bytes) : bytes_(std::move(bytes)) {}

  /// Room for about this many bytes of changes; more is allowed.
  void Reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  /// Deletes every key in [from, to); an empty range adds nothing.
  void DeleteRange(std::string_view from, std::string_view to);

  /// Receives the changes of a batch in the order they were added.
  class Visitor {
   public:
    virtual ~Visitor() = default;
    virtual void Put(std::string_view key, std::string_view value) = 0;
    virtual void Delete(std::string_view key) = 0;
    virtual void DeleteRange(std::string_view from, std::string_view to) = 0;
  };

  /// Errors: DATA_LOSS when the bytes are not a batch; changes before the damage
  /// were visited by then.
  Status Visit(Visitor& visitor) const;

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

}  // namespace sluice::store
