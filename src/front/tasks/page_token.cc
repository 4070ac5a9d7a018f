// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/page_token.h"

#include <algorithm>

#include <cstdint>

#include "absl/strings/escaping.h"
#include "base/codec.h"
#include "front/errors.h"

namespace sluice::front {
namespace {

constexpr std::string_view kField = "page_token";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kTokenLengthMax = 1024;
// Makes this checksum another one than that of the listing inside the token.
constexpr std::string_view kChecksumSalt = "sluice page token 1";

// FNV-1a with 64 bits: short, and good enough to notice accidents.
class Hash {
 public:
  /// The length keeps ("ab", "c") apart from ("a", "bc").
  Hash& Add(std::string_view part) {
    for (std::size_t size = part.size(), i = 0; i < 8; ++i, size >>= 8U) Mix(size & 0xFFU);
    for (const char c : part) Mix(static_cast<unsigned char>(c));
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void Mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001B3U; }

  std::uint64_t value_ = 0xCBF29CE484222325U;
};

std::uint64_t HashOf(const Listing& listing) {
  return Hash().Add(listing.method).Add(listing.parent).Add(listing.filter).value();
}

std::uint64_t ChecksumOf(std::string_view bytes) {
  return Hash().Add(kChecksumSalt).Add(bytes).value();
}

Status Garbled() {
  return AtField(kField, InvalidArgument("{} is not a token of this service; pass back "
                                         "next_page_token unchanged",
                                         kField));
}

}  // namespace

StatusOr<std::size_t> PageSize(std::int32_t asked, std::int32_t limit) {
  if (asked < 0) {
    return AtField("page_size", InvalidArgument("page_size is {}; it cannot be negative", asked));
  }
  return static_cast<std::size_t>(asked == 0 ? limit : std::min(asked, limit));
}

std::string MakePageToken(const Listing& listing, std::string_view cursor, Time now) {
  std::string bytes;
  ByteWriter writer(&bytes);
  writer.U8(kVersion);
  writer.SignedVarint(ToMicros(now));
  writer.U64(HashOf(listing));
  writer.Bytes(cursor);
  writer.U64(ChecksumOf(bytes));
  return absl::WebSafeBase64Escape(bytes);
}

StatusOr<std::string> ReadPageToken(const Listing& listing, std::string_view token, Time now) {
  if (token.empty()) return std::string();
  std::string bytes;
  if (token.size() > kTokenLengthMax || !absl::WebSafeBase64Unescape(std::string(token), &bytes) ||
      bytes.size() < sizeof(std::uint64_t)) {
    return Garbled();
  }
  const std::size_t body_size = bytes.size() - sizeof(std::uint64_t);
  ByteReader reader(bytes);
  const std::uint8_t version = reader.U8();
  const Time issued = FromMicros(reader.SignedVarint());
  const std::uint64_t listing_hash = reader.U64();
  std::string cursor(reader.Bytes());
  const std::uint64_t checksum = reader.U64();
  if (!reader.done() || version != kVersion ||
      checksum != ChecksumOf(std::string_view(bytes).substr(0, body_size))) {
    return Garbled();
  }
  if (listing_hash != HashOf(listing)) {
    return AtField(kField, InvalidArgument("{} belongs to another listing: method, parent and "
                                           "filter must stay the same from page to page",
                                           kField));
  }
  // A token from the future is one whose server's clock was set back: still good.
  if (now - issued > kPageTokenLife) {
    return AtField(kField, InvalidArgument("{} was issued at {}; tokens are valid for {}", kField,
                                           absl::FormatTime(issued, absl::UTCTimeZone()),
                                           absl::FormatDuration(kPageTokenLife)));
  }
  return cursor;
}

}  // namespace sluice::front
