// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text checks that the envelope's frame and the task check share. Pure functions.

#include <string_view>

namespace sluice::sink {

/// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool IsUtf8(std::string_view text);

/// Nothing, or only characters up to U+0020.
[[nodiscard]] bool IsBlank(std::string_view text);

}  // namespace sluice::sink
