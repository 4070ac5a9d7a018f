// SPDX-License-Identifier: Apache-2.0
#pragma once

// Decides from the first bytes of a connection who serves it, so that gRPC and
// HTTP/1.1 share one port with and without TLS. The bytes are only looked at:
// whoever serves the connection reads them again from the socket.
//
// gRPC gets a cleartext connection that starts with the HTTP/2 preface, and a
// TLS connection whose ClientHello offers "h2" and does not offer "http/1.1".
// A client that offers both (a browser, curl) can speak HTTP/1.1 and wants
// pages or REST, which only the HTTP/1.1 side serves.
//
// Pure functions over untrusted bytes: no I/O, no allocation, any thread.

#include <cstddef>
#include <string_view>

namespace sluice::front::net {

enum class PeekVerdict {
  kNeedMore,  ///< Undecided; ask again when more bytes are there.
  kGrpcCleartext,
  kGrpcTls,
  kHttp1Cleartext,
  kHttp1Tls,
  kRefuse,  ///< No protocol of ours; close.
};

/// A decision needs at most this many bytes: with so many, `kNeedMore` is never
/// the answer. Clients in the field send ClientHellos of 200 to 2,000 bytes.
inline constexpr std::size_t kPeekBytesMax = 16 * 1024;

/// The longest request method taken for one; ours have at most seven letters.
inline constexpr std::size_t kMethodBytesMax = 16;

/// `bytes` are all bytes received so far, from the first on.
[[nodiscard]] PeekVerdict ClassifyConnection(std::string_view bytes);

}  // namespace sluice::front::net
