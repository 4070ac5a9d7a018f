// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cuts the text of a subscription's filter into the pieces its grammar asks for
// (filter.h). It remembers where it stands, so that an error can say it.
//
// Threading: one thread. Failure: INVALID_ARGUMENT naming the byte.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::core {

class FilterLexer {
 public:
  explicit FilterLexer(std::string_view text) : text_(text) {}

  /// After spaces: whether the text ends here.
  bool AtEnd();
  /// After spaces: the next byte, or zero at the end.
  char Peek();
  /// After spaces: the bare word that stands here, unread; empty when none does.
  std::string_view PeekWord();

  /// Reads `symbol`, or a whole word, if it comes next.
  bool TakeSymbol(std::string_view symbol);
  bool TakeWord(std::string_view word);

  /// A bare word or a string, which names an attribute.
  StatusOr<std::string> Key();
  /// A string in double quotes, decoded.
  StatusOr<std::string> String();

  /// The error of finding something else than `wanted` at this byte.
  [[nodiscard]] Status Expected(std::string_view wanted);
  [[nodiscard]] Status ErrorAt(std::size_t byte, std::string_view what) const;

 private:
  void SkipSpace();
  Status Escape(std::string* out);
  Status Character(std::size_t start, std::size_t digits, int base, std::string* out);

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace sluice::core
