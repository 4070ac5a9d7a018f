// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

char Unescaped(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      SLUICE_CHECK(letter == '\\', "an escape of a corpus file is one of \\xHH \\n \\r \\t \\\\");
      return letter;
  }
}

int HexDigit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t at = kDigits.find(c);
  SLUICE_CHECK(at != std::string_view::npos, "\\x has two lower-case digits");
  return static_cast<int>(at);
}

}  // namespace

std::string ReadCorpusText(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    SLUICE_CHECK(++i < line.size(), "an escape is not finished");
    if (line[i] != 'x') {
      out += Unescaped(line[i]);
      continue;
    }
    SLUICE_CHECK(i + 2 < line.size(), "\\x has two digits");
    out += static_cast<char>(HexDigit(line[i + 1]) * 16 + HexDigit(line[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace sluice::fuzz
