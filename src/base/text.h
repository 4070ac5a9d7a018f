// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text that comes from outside: whole numbers, UTF-8, percent-escapes.
// Pure functions; any thread. Failure: nothing, where the text is not what is asked for.

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

/// The number that all of `text` is, in plain digits with an optional '-'; nothing when
/// it is none or does not fit.
template <typename Number>
[[nodiscard]] std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The bytes of the character that `text`, which is not empty, begins with; zero when
/// they are none. Overlong forms, surrogates and what lies beyond Unicode are none.
[[nodiscard]] std::size_t Utf8Length(std::string_view text);
[[nodiscard]] bool IsUtf8(std::string_view text);

/// `%XX` resolved. Nothing for an escape that is cut off or not hexadecimal.
[[nodiscard]] std::optional<std::string> DecodePercent(std::string_view text);

/// What RFC 3986 leaves unescaped beside letters and digits.
inline constexpr std::string_view kUnreservedMarks = "-_.~";
/// Appends `text` with everything but ASCII letters, digits and `marks` as `%XX`.
void AppendPercentEncoded(std::string_view text, std::string_view marks, std::string* out);

}  // namespace sluice
