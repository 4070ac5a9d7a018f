// SPDX-License-Identifier: Apache-2.0

// The cheapest HTTP target we can write, so that a benchmark measures the
// sender and not the receiver: one thread, epoll, keep-alive, status 200 and no
// body for whatever arrives. It reads just enough of a request to find its end
// (Content-Length; no chunked bodies).
//
//   sluice_bench_http_sink [--port N] [--delay-us N]
//
// Prints `port N` when it listens and `requests N` when SIGTERM or SIGINT ends
// it. `GET /count` answers with the requests so far, that one left out.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kRequestBytesMax = 16u << 20;
constexpr int kEventsMax = 512;
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "http_sink: {} failed, errno {}\n", what, errno);
  std::exit(1);
}

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The value of Content-Length in a request head, zero when there is none.
std::size_t BodyBytes(std::string_view head) {
  constexpr std::string_view kName = "\r\ncontent-length:";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    if (head.size() - at < kName.size()) return 0;
    if (strncasecmp(head.data() + at, kName.data(), kName.size()) != 0) continue;
    std::string_view value = head.substr(at + kName.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return NumberOf(value);
  }
  return 0;
}

struct Connection {
  int fd = -1;
  std::string unread;
};

/// An answer held back by --delay-us.
struct Delayed {
  SteadyClock::time_point due;
  std::uint64_t connection = 0;
};

class Sink {
 public:
  Sink(std::uint16_t port, std::chrono::microseconds delay) : delay_(delay) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener_ < 0) Die("socket");
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t length = sizeof address;
    void* raw = &address;
    if (::bind(listener_, static_cast<sockaddr*>(raw), length) != 0) Die("bind");
    if (::listen(listener_, 8192) != 0) Die("listen");
    if (::getsockname(listener_, static_cast<sockaddr*>(raw), &length) != 0) Die("getsockname");
    fmt::print("port {}\n", ntohs(address.sin_port));
    std::fflush(stdout);

    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    Watch(listener_, kListener);
    Watch(signals_, kSignals);
  }

  void Run() {
    epoll_event events[kEventsMax];
    for (;;) {
      const int count = ::epoll_wait(epoll_, events, kEventsMax, WaitMillis());
      if (count < 0 && errno != EINTR) Die("epoll_wait");
      for (int i = 0; i < count; ++i) {
        const std::uint64_t id = events[i].data.u64;
        if (id == kSignals) {
          fmt::print("requests {}\n", requests_);
          return;
        }
        if (id == kListener) {
          Accept();
        } else if (const auto found = connections_.find(id); found != connections_.end()) {
          Read(id, found->second);
        }
      }
      while (!delayed_.empty() && delayed_.front().due <= SteadyClock::now()) {
        const auto found = connections_.find(delayed_.front().connection);
        if (found != connections_.end()) Send(found->second.fd, kAnswer);
        delayed_.pop_front();
      }
    }
  }

 private:
  static constexpr std::uint64_t kListener = 0;
  static constexpr std::uint64_t kSignals = 1;

  void Watch(int fd, std::uint64_t id) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) Die("epoll_ctl");
  }

  [[nodiscard]] int WaitMillis() const {
    if (delayed_.empty()) return -1;
    const auto left = delayed_.front().due - SteadyClock::now();
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::max<std::int64_t>(millis, 0));
  }

  void Accept() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const std::uint64_t id = next_id_++;
      connections_.emplace(id, Connection{fd, {}});
      Watch(fd, id);
    }
  }

  void Read(std::uint64_t id, Connection& connection) {
    const ssize_t got = ::recv(connection.fd, buffer_.get(), kReadBytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return Close(id);
    connection.unread.append(buffer_.get(), static_cast<std::size_t>(got));
    for (;;) {
      const std::size_t head_end = connection.unread.find("\r\n\r\n");
      if (head_end == std::string::npos) break;
      const std::string_view head = std::string_view(connection.unread).substr(0, head_end + 2);
      const std::size_t request_bytes = head_end + 4 + BodyBytes(head);
      if (request_bytes > kRequestBytesMax) return Close(id);
      if (connection.unread.size() < request_bytes) break;
      Answer(id, connection.fd, head);
      connection.unread.erase(0, request_bytes);
    }
    if (connection.unread.size() > kRequestBytesMax) Close(id);
  }

  void Answer(std::uint64_t id, int fd, std::string_view head) {
    if (head.starts_with("GET /count ")) {
      const std::string number = std::to_string(requests_);
      Send(fd,
           fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", number.size(), number));
      return;
    }
    ++requests_;
    if (delay_.count() == 0) {
      Send(fd, kAnswer);
    } else {
      delayed_.push_back({SteadyClock::now() + delay_, id});
    }
  }

  /// An answer fits the socket buffer unless the client never reads; then it
  /// may lose it.
  static void Send(int fd, std::string_view bytes) {
    [[maybe_unused]] const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void Close(std::uint64_t id) {
    ::close(connections_.at(id).fd);
    connections_.erase(id);
  }

  std::chrono::microseconds delay_;
  int listener_ = -1;
  int signals_ = -1;
  int epoll_ = -1;
  std::uint64_t next_id_ = 2;
  std::uint64_t requests_ = 0;
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::deque<Delayed> delayed_;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kReadBytes);
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t port = 0;
  std::uint64_t delay_us = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--port") port = NumberOf(argv[i + 1]);
    if (flag == "--delay-us") delay_us = NumberOf(argv[i + 1]);
  }
  Sink(static_cast<std::uint16_t>(port), std::chrono::microseconds(delay_us)).Run();
  return 0;
}
