// SPDX-License-Identifier: Apache-2.0
#pragma once

// An IPv4 or IPv6 address with a port, as text and as the kernel's structure,
// and the listening socket on it. Host names other than `localhost` are refused:
// what a server binds must not depend on a name server.
//
// Threading: plain values.

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "front/net/unique_fd.h"

namespace sluice::front::net {

class SocketAddress {
 public:
  SocketAddress() = default;
  /// Requires: `length` bytes at `address` are a sockaddr_in or sockaddr_in6.
  SocketAddress(const sockaddr* address, socklen_t length);

  /// `127.0.0.1:8085`, `[::1]:0`, `localhost:8085` (which is 127.0.0.1).
  /// Errors: INVALID_ARGUMENT naming the text and what is wrong with it.
  static StatusOr<SocketAddress> Parse(std::string_view text);

  [[nodiscard]] bool IsLoopback() const;
  [[nodiscard]] std::uint16_t Port() const;
  [[nodiscard]] std::string ToString() const;

  [[nodiscard]] const sockaddr* get() const;
  [[nodiscard]] socklen_t length() const { return length_; }
  [[nodiscard]] int family() const { return storage_.ss_family; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// Binds and listens, non-blocking and close-on-exec. A server that just stopped
/// leaves its port usable at once; a server that still runs keeps it. An IPv6
/// socket serves IPv6 only, so that `0.0.0.0:P` and `[::]:P` can be given together.
/// Errors: ALREADY_EXISTS for a port in use; UNAVAILABLE otherwise.
StatusOr<UniqueFd> BindAndListen(const SocketAddress& address);

/// The address a socket is bound to: with port 0 the kernel chose one.
StatusOr<SocketAddress> BoundAddress(int fd);

}  // namespace sluice::front::net
