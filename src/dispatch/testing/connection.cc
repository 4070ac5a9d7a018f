// SPDX-License-Identifier: Apache-2.0
#include "dispatch/testing/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>

namespace sluice::dispatch {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

Connection::Connection(int fd, SSL_CTX* tls)
    : fd_(fd), tls_(tls == nullptr ? nullptr : SSL_new(tls), SSL_free) {
  if (tls_ != nullptr) SSL_set_fd(tls_.get(), fd_);
}

Connection::~Connection() { ::close(fd_); }

bool Connection::Open() { return tls_ == nullptr || SSL_accept(tls_.get()) == 1; }

bool Connection::Read(std::string* bytes) {
  std::array<char, kReadBytes> buffer;
  ssize_t got = 0;
  if (tls_ != nullptr) {
    got = SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()));
  } else {
    do {
      got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    } while (got < 0 && errno == EINTR);
  }
  if (got <= 0) return false;
  bytes->append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool Connection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = 0;
    if (tls_ != nullptr) {
      const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
      put = SSL_write(tls_.get(), bytes.data(), static_cast<int>(part));
    } else {
      put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
    }
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool Connection::Linger(Duration duration) {
  pollfd entry{.fd = fd_, .events = POLLRDHUP, .revents = 0};
  const std::int64_t millis =
      duration == absl::InfiniteDuration()
          ? -1
          : absl::ToInt64Milliseconds(absl::Ceil(duration, absl::Milliseconds(1)));
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, static_cast<int>(millis));
  } while (ready < 0 && errno == EINTR);
  return ready == 0;
}

void Connection::Shutdown() { ::shutdown(fd_, SHUT_RDWR); }

}  // namespace sluice::dispatch
