// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text with places for fields of a record: `http://shop/orders/${order.id}`.
//   ${a}       the field a; ${a.b} the field b of the object a, ${a.0} an element
//   ${a|url}   percent-encoded, ${a|json} as JSON with its quotes, ${a|raw} as it is
//   $$         a dollar sign
// A string gives its characters, everything else its JSON. A field that is missing
// or null is an error: half an address is worse than none.
//
// Threading: immutable after Parse; any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::runner {

class TemplateText {
 public:
  enum class Encoding : unsigned char {
    kRaw,
    kUrl,  // unreserved characters stay
    kJson,
  };

  /// `encoding` is for places that name none; a place at the very start of a URL
  /// is taken as it is, since it carries the scheme and the host.
  /// Errors: INVALID_ARGUMENT with the column.
  static StatusOr<TemplateText> Parse(std::string_view text, Encoding encoding);

  /// Errors: INVALID_ARGUMENT naming the field.
  [[nodiscard]] StatusOr<std::string> Fill(const nlohmann::json& record) const;

  [[nodiscard]] bool is_fixed() const;

 private:
  struct Part {
    std::string text;  // before the place
    std::string name;  // empty: no place, only text
    std::vector<std::string> path;
    Encoding encoding = Encoding::kRaw;
  };
  std::vector<Part> parts_;
};

}  // namespace sluice::runner
