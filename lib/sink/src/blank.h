// SPDX-License-Identifier: Apache-2.0
#pragma once

// What counts as nothing in a name or a setting, and what a part of a name may be.
// Pure functions.

#include <algorithm>
#include <string_view>

#include "base/status.h"

namespace sluice::sink {

/// Whitespace or a control character.
[[nodiscard]] inline bool IsSpace(char c) { return static_cast<unsigned char>(c) <= 0x20; }

/// Empty, or nothing but such characters.
[[nodiscard]] inline bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsSpace);
}

/// One part, `component`, of the name of a `resource` (spec 1.2). Errors: INVALID_ARGUMENT
/// naming both, and the value unless it is blank.
[[nodiscard]] inline Status CheckComponent(std::string_view resource, std::string_view component,
                                           std::string_view value) {
  if (IsBlank(value))
    return InvalidArgument("the {} of a {} must not be blank", component, resource);
  if (IsSpace(value.front()) || IsSpace(value.back())) {
    return InvalidArgument(
        "the {} of a {} must not begin or end with whitespace or a control character: \"{}\"",
        component, resource, value);
  }
  if (value.find('/') != std::string_view::npos) {
    return InvalidArgument("the {} of a {} must not contain '/': \"{}\"", component, resource,
                           value);
  }
  return {};
}

}  // namespace sluice::sink
