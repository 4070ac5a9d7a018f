// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <array>
#include <cstddef>

namespace sluice {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78U;
constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

std::uint32_t ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  std::size_t at = 0;
  // Eight bytes a step: each has a table for its distance from the end of the step.
  for (; at + kSlices <= bytes.size(); at += kSlices) {
    const std::uint32_t low = crc ^ (ByteAt(bytes, at) | ByteAt(bytes, at + 1) << 8 |
                                     ByteAt(bytes, at + 2) << 16 | ByteAt(bytes, at + 3) << 24);
    crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^
          kTables[4][low >> 24] ^ kTables[3][ByteAt(bytes, at + 4)] ^
          kTables[2][ByteAt(bytes, at + 5)] ^ kTables[1][ByteAt(bytes, at + 6)] ^
          kTables[0][ByteAt(bytes, at + 7)];
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ ByteAt(bytes, at)) & 0xff];
  return ~crc;
}

}  // namespace sluice
