// SPDX-License-Identifier: Apache-2.0
#include "base/codec.h"

#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

template <typename T>
void AppendLittle(std::string* out, T v) {
  static_assert(std::endian::native == std::endian::little);
  char raw[sizeof v];
  std::memcpy(raw, &v, sizeof v);
  out->append(raw, sizeof v);
}

template <typename T>
T LoadLittle(std::string_view raw) {
  T v;
  std::memcpy(&v, raw.data(), sizeof v);
  return v;
}

}  // namespace

void ByteWriter::U32(std::uint32_t v) { AppendLittle(out_, v); }
void ByteWriter::U64(std::uint64_t v) { AppendLittle(out_, v); }

void ByteWriter::Varint(std::uint64_t v) {
  while (v >= 0x80) {
    U8(static_cast<std::uint8_t>(v | 0x80));
    v >>= 7;
  }
  U8(static_cast<std::uint8_t>(v));
}

void ByteWriter::SignedVarint(std::int64_t v) {
  const auto u = static_cast<std::uint64_t>(v);
  Varint((u << 1) ^ (v < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::Bytes(std::string_view v) {
  Varint(v.size());
  Raw(v);
}

void ByteWriter::OrderedU64(std::uint64_t v) { U64(__builtin_bswap64(v)); }

void ByteWriter::OrderedI64(std::int64_t v) {
  OrderedU64(static_cast<std::uint64_t>(v) ^ kSignBit);
}

void ByteReader::Fail() {
  ok_ = false;
  in_ = {};
}

std::string_view ByteReader::Raw(std::size_t n) {
  if (n > in_.size()) {
    Fail();
    return {};
  }
  const std::string_view out = in_.substr(0, n);
  in_.remove_prefix(n);
  return out;
}

std::uint8_t ByteReader::U8() {
  const std::string_view raw = Raw(1);
  return raw.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(raw[0]);
}

std::uint32_t ByteReader::U32() {
  const std::string_view raw = Raw(4);
  return raw.empty() ? 0 : LoadLittle<std::uint32_t>(raw);
}

std::uint64_t ByteReader::U64() {
  const std::string_view raw = Raw(8);
  return raw.empty() ? 0 : LoadLittle<std::uint64_t>(raw);
}

std::uint64_t ByteReader::Varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = U8();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  Fail();
  return 0;
}

std::int64_t ByteReader::SignedVarint() {
  const std::uint64_t u = Varint();
  return static_cast<std::int64_t>((u >> 1) ^ (~(u & 1) + 1));
}

std::string_view ByteReader::Bytes() {
  const std::uint64_t n = Varint();
  if (!ok_) return {};
  if (n > in_.size()) {
    Fail();
    return {};
  }
  return Raw(static_cast<std::size_t>(n));
}

std::uint64_t ByteReader::OrderedU64() { return __builtin_bswap64(U64()); }

std::int64_t ByteReader::OrderedI64() {
  const std::uint64_t u = OrderedU64();
  return ok_ ? static_cast<std::int64_t>(u ^ kSignBit) : 0;
}

}  // namespace sluice
