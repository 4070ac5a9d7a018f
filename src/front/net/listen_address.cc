// SPDX-License-Identifier: Apache-2.0
#include "front/net/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace sluice::front::net {
namespace {

constexpr int kBacklog = 1024;

std::string ErrorText(int error) { return std::generic_category().message(error); }

// The kernel's address structures are views of one another by design; copying
// instead of casting keeps the compiler's aliasing rules.
template <typename T>
T As(const sockaddr_storage& storage) {
  T value{};
  std::memcpy(&value, &storage, sizeof value);
  return value;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  SLUICE_CHECK(length <= sizeof storage_, "socket address longer than any the kernel has");
  std::memcpy(&storage_, address, length);
}

StatusOr<SocketAddress> SocketAddress::Parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument("listen address \"{}\" is not of the form HOST:PORT", text);
  }
  const auto port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port) {
    return InvalidArgument("listen address \"{}\": the port is not a number from 0 to 65535", text);
  }
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";

  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(*port);
    if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
      return SocketAddress(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    }
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(*port);
    if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
      return SocketAddress(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    }
  }
  return InvalidArgument(
      "listen address \"{}\": the host is neither an IPv4 address, an IPv6 address in brackets, "
      "nor "
      "localhost",
      text);
}

bool SocketAddress::IsLoopback() const {
  if (family() == AF_INET) {
    return ntohl(As<sockaddr_in>(storage_).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (family() == AF_INET6) {
    const auto v6 = As<sockaddr_in6>(storage_);
    return std::memcmp(&v6.sin6_addr, &in6addr_loopback, sizeof v6.sin6_addr) == 0;
  }
  return false;
}

std::uint16_t SocketAddress::Port() const {
  if (family() == AF_INET) return ntohs(As<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(As<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

std::string SocketAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto v4 = As<sockaddr_in>(storage_);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, Port());
  }
  if (family() == AF_INET6) {
    const auto v6 = As<sockaddr_in6>(storage_);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return fmt::format("[{}]:{}", text, Port());
  }
  return "unknown";
}

const sockaddr* SocketAddress::get() const { return reinterpret_cast<const sockaddr*>(&storage_); }

StatusOr<UniqueFd> BindAndListen(const SocketAddress& address) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) {
    return Unavailable("listen address {}: no socket: {}", address.ToString(), ErrorText(errno));
  }
  const int on = 1;
  // Without it, connections of the previous server that wait out their last
  // minutes in the kernel would block a restart.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(fd.get(), address.get(), address.length()) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return AlreadyExists("listen address {} is in use by another process", address.ToString());
    }
    return Unavailable("listen address {}: {}", address.ToString(), ErrorText(error));
  }
  return fd;
}

StatusOr<SocketAddress> BoundAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return Unavailable("listening socket has no address: {}", ErrorText(errno));
  }
  return SocketAddress(reinterpret_cast<const sockaddr*>(&storage), length);
}

}  // namespace sluice::front::net
