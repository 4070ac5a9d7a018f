// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers of one outgoing request, ready for the wire: one block of text
// that is reused from request to request, so that a request costs no allocation
// for each header.
//
// Threading: one thread. Ownership: views and pointers are valid until the next
// change. Failure: a header that could break out of its line is refused.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::dispatch {

class HeaderLines {
 public:
  void Clear();

  /// Appends a header; the case of `name` is kept, white space around `value` is not.
  /// Errors: INVALID_ARGUMENT naming a header with a byte that may not be sent.
  Status Add(std::string_view name, std::string_view value);

  /// Removes every header of that name, in any case.
  void Remove(std::string_view name);

  [[nodiscard]] bool Has(std::string_view name) const;
  [[nodiscard]] std::size_t count() const { return entries_.size(); }
  [[nodiscard]] std::string_view Name(std::size_t index) const;
  [[nodiscard]] std::string_view Value(std::size_t index) const;

  /// The header in libcurl's notation, NUL-terminated: `Name: value`, or `Name;`
  /// for a header that is sent with an empty value.
  [[nodiscard]] char* Line(std::size_t index);

 private:
  struct Entry {
    std::size_t offset = 0;
    std::size_t name_bytes = 0;
    std::size_t value_bytes = 0;
  };

  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace sluice::dispatch
