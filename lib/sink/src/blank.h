// SPDX-License-Identifier: Apache-2.0
#pragma once

// What counts as nothing in a name or a setting. Pure functions.

#include <algorithm>
#include <string_view>

namespace sluice::sink {

/// Whitespace or a control character.
[[nodiscard]] inline bool IsSpace(char c) { return static_cast<unsigned char>(c) <= 0x20; }

/// Empty, or nothing but such characters.
[[nodiscard]] inline bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsSpace);
}

}  // namespace sluice::sink
