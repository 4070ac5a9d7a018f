// SPDX-License-Identifier: Apache-2.0
#pragma once

// The byte-level building blocks of every format on disk: little-endian fixed
// integers, LEB128 varints, length-prefixed bytes, and big-endian integers for
// keys whose byte order must be their numeric order. docs/format/ says which
// record uses which.
//
// Threading: a writer or reader belongs to one thread.
// Failure: reading past the end or an over-long varint makes the reader fail
// for good (`ok()` is false and every later read returns zero or empty), so a
// decoder checks once at its end.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Appends to a string that the caller owns.
class ByteWriter {
 public:
  explicit ByteWriter(std::string* out) : out_(out) {}

  void U8(std::uint8_t v) { out_->push_back(static_cast<char>(v)); }
  void U32(std::uint32_t v);
  void U64(std::uint64_t v);
  void Varint(std::uint64_t v);
  /// ZigZag, so that small negative numbers stay short.
  void SignedVarint(std::int64_t v);
  void Double(double v) { U64(std::bit_cast<std::uint64_t>(v)); }
  /// Length as a varint, then the bytes.
  void Bytes(std::string_view v);
  /// The bytes alone.
  void Raw(std::string_view v) { out_->append(v); }
  /// Big-endian, for keys.
  void OrderedU64(std::uint64_t v);
  /// Big-endian with the sign bit flipped, for keys that order signed numbers.
  void OrderedI64(std::int64_t v);

 private:
  std::string* out_;
};

/// Reads from bytes that must outlive it; returned views point into them.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t U8();
  std::uint32_t U32();
  std::uint64_t U64();
  std::uint64_t Varint();
  std::int64_t SignedVarint();
  double Double() { return std::bit_cast<double>(U64()); }
  std::string_view Bytes();
  std::string_view Raw(std::size_t n);
  std::uint64_t OrderedU64();
  std::int64_t OrderedI64();

  [[nodiscard]] bool ok() const { return ok_; }
  /// True when everything was read and nothing failed.
  [[nodiscard]] bool done() const { return ok_ && in_.empty(); }
  [[nodiscard]] std::string_view rest() const { return in_; }

 private:
  void Fail();

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace sluice
