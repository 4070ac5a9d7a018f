// SPDX-License-Identifier: Apache-2.0
#include "front/net/connection_peek.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sluice::front::net {
namespace {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Numbers of RFC 8446 (TLS records, handshake) and RFC 7301 (ALPN).
constexpr std::uint8_t kRecordHandshake = 22;
constexpr std::uint8_t kHandshakeClientHello = 1;
constexpr std::uint16_t kExtensionAlpn = 16;
constexpr std::size_t kRecordHeaderBytes = 5;
constexpr std::size_t kRecordPayloadBytesMax = 16384;

// Walks the handshake bytes inside TLS records as one stream: a ClientHello may
// be cut into records at any byte. Running out of input and breaking the
// protocol are different outcomes, since only the first can get better.
class HandshakeReader {
 public:
  explicit HandshakeReader(std::string_view records) : rest_(records) {}

  std::optional<std::uint8_t> U8() {
    if (limit_ == 0) return Broken<std::uint8_t>();
    while (record_left_ == 0) {
      if (!NextRecord()) return std::nullopt;
    }
    if (rest_.empty()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    --record_left_;
    --limit_;
    return byte;
  }

  std::optional<std::size_t> Number(int width_bytes) {
    std::size_t value = 0;
    for (int i = 0; i < width_bytes; ++i) {
      const auto byte = U8();
      if (!byte) return std::nullopt;
      value = value << 8 | *byte;
    }
    return value;
  }

  bool Skip(std::size_t count) {
    for (; count > 0; --count) {
      if (!U8()) return false;
    }
    return true;
  }

  // Bytes that may still be read before the enclosing structure ends.
  void set_limit(std::size_t limit) { limit_ = limit; }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] bool broken() const { return broken_; }
  void set_broken() { broken_ = true; }

 private:
  template <typename T>
  std::optional<T> Broken() {
    broken_ = true;
    return std::nullopt;
  }

  bool NextRecord() {
    // Each byte is judged as soon as it is there, so that garbage which happens
    // to start with 22 is refused without waiting for the rest of a header.
    if (!rest_.empty() && static_cast<std::uint8_t>(rest_[0]) != kRecordHandshake) {
      broken_ = true;
      return false;
    }
    if (rest_.size() > 1 && rest_[1] != 3) {
      broken_ = true;
      return false;
    }
    if (rest_.size() < kRecordHeaderBytes) return false;
    const std::size_t length = static_cast<std::size_t>(static_cast<std::uint8_t>(rest_[3])) << 8 |
                               static_cast<std::uint8_t>(rest_[4]);
    if (length == 0 || length > kRecordPayloadBytesMax) {
      broken_ = true;
      return false;
    }
    record_left_ = length;
    rest_.remove_prefix(kRecordHeaderBytes);
    return true;
  }

  std::string_view rest_;
  std::size_t record_left_ = 0;
  std::size_t limit_ = 4;  // the handshake header
  bool broken_ = false;
};

struct AlpnOffer {
  bool has_h2 = false;
  bool has_http1 = false;
};

// Reads the protocol names of an ALPN extension whose body has `length` bytes.
std::optional<AlpnOffer> ReadAlpn(HandshakeReader& in, std::size_t length) {
  const auto list = in.Number(2);
  if (!list) return std::nullopt;
  if (*list + 2 != length) {
    in.set_broken();
    return std::nullopt;
  }
  AlpnOffer offer;
  for (std::size_t left = *list; left > 0;) {
    const auto name_length = in.U8();
    if (!name_length) return std::nullopt;
    if (*name_length == 0 || *name_length + std::size_t{1} > left) {
      in.set_broken();
      return std::nullopt;
    }
    char name[255];
    for (std::size_t i = 0; i < *name_length; ++i) {
      const auto byte = in.U8();
      if (!byte) return std::nullopt;
      name[i] = static_cast<char>(*byte);
    }
    const std::string_view protocol(name, *name_length);
    offer.has_h2 |= protocol == "h2";
    offer.has_http1 |= protocol == "http/1.1";
    left -= *name_length + std::size_t{1};
  }
  return offer;
}

// Reads up to the ALPN extension; an offer without one is an empty offer.
std::optional<AlpnOffer> ReadClientHello(HandshakeReader& in) {
  const auto type = in.U8();
  if (!type) return std::nullopt;
  if (*type != kHandshakeClientHello) {
    in.set_broken();
    return std::nullopt;
  }
  const auto length = in.Number(3);
  if (!length) return std::nullopt;
  if (*length > kPeekBytesMax) {
    in.set_broken();
    return std::nullopt;
  }
  in.set_limit(*length);
  constexpr std::size_t kVersionAndRandomBytes = 2 + 32;
  if (!in.Skip(kVersionAndRandomBytes)) return std::nullopt;
  for (const int width : {1, 2, 1}) {  // session id, cipher suites, compression methods
    const auto size = in.Number(width);
    if (!size || !in.Skip(*size)) return std::nullopt;
  }
  if (in.limit() == 0) return AlpnOffer{};
  const auto extensions = in.Number(2);
  if (!extensions) return std::nullopt;
  if (*extensions != in.limit()) {
    in.set_broken();
    return std::nullopt;
  }
  while (in.limit() > 0) {
    const auto extension = in.Number(2);
    if (!extension) return std::nullopt;
    const auto size = in.Number(2);
    if (!size) return std::nullopt;
    if (*extension == kExtensionAlpn) return ReadAlpn(in, *size);
    if (!in.Skip(*size)) return std::nullopt;
  }
  return AlpnOffer{};
}

PeekVerdict ClassifyTls(std::string_view bytes) {
  HandshakeReader in(bytes);
  const auto offer = ReadClientHello(in);
  if (offer) {
    return offer->has_h2 && !offer->has_http1 ? PeekVerdict::kGrpcTls : PeekVerdict::kHttp1Tls;
  }
  if (in.broken() || bytes.size() >= kPeekBytesMax) return PeekVerdict::kRefuse;
  return PeekVerdict::kNeedMore;
}

PeekVerdict ClassifyCleartext(std::string_view bytes) {
  // "PRI" is reserved for the preface, so nothing else may follow it.
  const std::string_view head = bytes.substr(0, kHttp2Preface.size());
  if (kHttp2Preface.starts_with(head)) {
    return head.size() == kHttp2Preface.size() ? PeekVerdict::kGrpcCleartext
                                               : PeekVerdict::kNeedMore;
  }
  if (bytes.starts_with("PRI ")) return PeekVerdict::kRefuse;

  const std::string_view method = bytes.substr(0, kMethodBytesMax + 1);
  const auto end = std::find_if(method.begin(), method.end(),
                                [](char c) { return (c < 'A' || c > 'Z') && c != '-'; });
  if (end == method.end()) {
    return method.size() > kMethodBytesMax ? PeekVerdict::kRefuse : PeekVerdict::kNeedMore;
  }
  const bool has_name = end != method.begin() && method.front() != '-';
  return has_name && *end == ' ' ? PeekVerdict::kHttp1Cleartext : PeekVerdict::kRefuse;
}

}  // namespace

PeekVerdict ClassifyConnection(std::string_view bytes) {
  if (bytes.empty()) return PeekVerdict::kNeedMore;
  if (static_cast<std::uint8_t>(bytes.front()) == kRecordHandshake) {
    return ClassifyTls(bytes.substr(0, kPeekBytesMax));
  }
  return ClassifyCleartext(bytes);
}

}  // namespace sluice::front::net
