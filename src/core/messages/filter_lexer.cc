// SPDX-License-Identifier: Apache-2.0
#include "core/messages/filter_lexer.h"

#include <charconv>
#include <cstdint>

#include "absl/strings/ascii.h"

namespace sluice::core {
namespace {

bool IsWordByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '-';
}

bool IsCharacter(std::uint32_t code) {
  return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

// Requires: IsCharacter(code).
void AppendUtf8(std::uint32_t code, std::string* out) {
  const auto tail = [&](int shift) {
    out->push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3F)));
  };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

void FilterLexer::SkipSpace() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
}

bool FilterLexer::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

char FilterLexer::Peek() { return AtEnd() ? '\0' : text_[at_]; }

std::string_view FilterLexer::PeekWord() {
  SkipSpace();
  std::size_t end = at_;
  while (end < text_.size() && IsWordByte(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool FilterLexer::TakeSymbol(std::string_view symbol) {
  SkipSpace();
  if (text_.substr(at_, symbol.size()) != symbol) return false;
  at_ += symbol.size();
  return true;
}

bool FilterLexer::TakeWord(std::string_view word) {
  if (PeekWord() != word) return false;
  at_ += word.size();
  return true;
}

StatusOr<std::string> FilterLexer::Key() {
  const bool quoted = Peek() == '"';
  const std::size_t start = at_;
  if (quoted) {
    SLUICE_ASSIGN_OR_RETURN(std::string key, String());
    if (key.empty()) return ErrorAt(start, "no attribute has an empty key");
    return key;
  }
  const std::string_view word = PeekWord();
  if (word.empty()) {
    return Expected("an attribute's key, in quotes if it is more than letters, digits, _ and -");
  }
  at_ += word.size();
  return std::string(word);
}

StatusOr<std::string> FilterLexer::String() {
  if (Peek() != '"') return Expected("a string in double quotes");
  const std::size_t start = at_++;
  std::string value;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      SLUICE_RETURN_IF_ERROR(Escape(&value));
    } else {
      value.push_back(text_[at_++]);
    }
  }
  if (at_ == text_.size()) return ErrorAt(start, "this string has no closing quote");
  ++at_;
  return value;
}

Status FilterLexer::Escape(std::string* out) {
  const std::size_t start = at_++;
  const char kind = at_ < text_.size() ? text_[at_] : '\0';
  if (kind >= '0' && kind <= '7') return Character(start, 3, 8, out);
  ++at_;
  switch (kind) {
    case '\\':
    case '"':
      out->push_back(kind);
      return {};
    case 'n':
      out->push_back('\n');
      return {};
    case 't':
      out->push_back('\t');
      return {};
    case 'r':
      out->push_back('\r');
      return {};
    case 'x':
      return Character(start, 2, 16, out);
    case 'u':
      return Character(start, 4, 16, out);
    case 'U':
      return Character(start, 8, 16, out);
    default:
      return ErrorAt(start,
                     R"(not an escape; there are \\ \" \n \t \r \xHH \OOO \uHHHH \UHHHHHHHH)");
  }
}

Status FilterLexer::Character(std::size_t start, std::size_t digits, int base, std::string* out) {
  const std::string_view number = text_.substr(at_, digits);
  const char* const end = number.data() + number.size();
  std::uint32_t code = 0;
  const auto parsed = std::from_chars(number.data(), end, code, base);
  if (number.size() != digits || parsed.ptr != end || parsed.ec != std::errc()) {
    return ErrorAt(start, fmt::format("this escape needs {} digits to base {}", digits, base));
  }
  if (!IsCharacter(code)) return ErrorAt(start, "this escape is no Unicode character");
  at_ += digits;
  AppendUtf8(code, out);
  return {};
}

Status FilterLexer::Expected(std::string_view wanted) {
  SkipSpace();
  return ErrorAt(at_, fmt::format("expected {}", wanted));
}

Status FilterLexer::ErrorAt(std::size_t byte, std::string_view what) const {
  return InvalidArgument("the filter is not valid at byte {}: {}{}", byte, what,
                         byte >= text_.size() ? ", found its end" : "");
}

}  // namespace sluice::core
