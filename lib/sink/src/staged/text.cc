// SPDX-License-Identifier: Apache-2.0
#include "staged/text.h"

#include <cstddef>
#include <cstdint>

namespace sluice::sink {
namespace {

std::uint32_t ByteAt(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool IsTrimmable(char c) { return static_cast<unsigned char>(c) <= 0x20; }

}  // namespace

bool IsUtf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::uint32_t lead = ByteAt(text, at);
    if (lead < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return false;
    std::uint32_t point = lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const std::uint32_t next = ByteAt(text, at + i);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (overlong || surrogate || point > 0x10ffff) return false;
    at += length;
  }
  return true;
}

bool IsBlank(std::string_view text) {
  for (const char c : text) {
    if (!IsTrimmable(c)) return false;
  }
  return true;
}

}  // namespace sluice::sink
