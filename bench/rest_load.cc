// SPDX-License-Identifier: Apache-2.0

// Load on a REST endpoint: CreateTask over HTTP/1.1 on kept connections, one request
// outstanding on each, one thread. The counterpart of create_load.cc; the bytes on the
// wire are what a client of Google's REST API sends. It reads no more of HTTP than the
// status and Content-Length, so that it costs little beside what it measures.
//
//   sluice_bench_rest_load --target HOST:PORT [--calls N] [--connections N] [--body N]
//       [--queue NAME] [--url URL] [--schedule-in SECONDS]
//
// Prints the line of latency_report.h.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "bench/latency_report.h"

namespace {

using SteadyClock = sluice::bench::LatencyReport::Clock;

struct Settings {
  std::string target;
  std::uint64_t calls = 50'000;
  std::size_t connections = 64;
  std::size_t body_bytes = 1024;
  std::string queue = "projects/p/locations/l/queues/bench";
  std::string url = "http://127.0.0.1:9/";
  std::int64_t schedule_in_seconds = 3600;
};

[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "rest_load: {}\n", what);
  std::exit(1);
}

std::string RequestOf(const Settings& s) {
  std::string when;
  if (s.schedule_in_seconds != 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    when = fmt::format(R"(,"scheduleTime":"{}")",
                       absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                                        absl::FromUnixSeconds(seconds + s.schedule_in_seconds),
                                        absl::UTCTimeZone()));
  }
  const std::string body =
      fmt::format(R"({{"task":{{"httpRequest":{{"url":"{}","body":"{}"}}{}}}}})", s.url,
                  absl::Base64Escape(std::string(s.body_bytes, 'x')), when);
  return fmt::format(
      "POST /v2/{}/tasks HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      s.queue, s.target, body.size(), body);
}

int Connect(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::uint16_t port = 0;
  const char* const end = target.data() + target.size();
  if (colon == std::string::npos ||
      std::from_chars(target.data() + colon + 1, end, port).ptr != end ||
      ::inet_pton(AF_INET, target.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    Die("--target is ADDRESS:PORT");
  }
  address.sin_port = htons(port);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    Die("no connection to " + target);
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

class Load {
 public:
  explicit Load(const Settings& settings)
      : settings_(settings), request_(RequestOf(settings)), report_(settings.calls) {
    connections_.resize(settings.connections);
    for (Connection& connection : connections_) {
      fds_.push_back({Connect(settings.target), POLLIN, 0});
      connection.fd = fds_.back().fd;
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    for (const Connection& connection : connections_) ::close(connection.fd);
  }

  int Run() {
    const auto begin = SteadyClock::now();
    for (Connection& connection : connections_) Start(connection);
    while (report_.calls() < settings_.calls) {
      if (::poll(fds_.data(), fds_.size(), -1) < 0) Die("poll failed");
      for (std::size_t i = 0; i < fds_.size(); ++i) {
        if (fds_[i].revents != 0) Read(connections_[i]);
      }
    }
    return report_.Print("rest", begin);
  }

 private:
  struct Connection {
    int fd = -1;
    std::string answer;
    SteadyClock::time_point begin;
  };

  void Start(Connection& connection) {
    if (started_ == settings_.calls) return;
    ++started_;
    connection.begin = SteadyClock::now();
    // Blocks while the socket's buffer is full; a request is far smaller than one.
    std::string_view left = request_;
    while (!left.empty()) {
      const ssize_t sent = ::send(connection.fd, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) Die("the server closed a connection");
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void Read(Connection& connection) {
    char buffer[8192];
    const ssize_t got = ::recv(connection.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0) Die("the server closed a connection");
    if (got < 0) return;
    connection.answer.append(buffer, static_cast<std::size_t>(got));
    if (!IsWhole(connection.answer)) return;
    report_.Add(connection.begin);
    if (!connection.answer.starts_with(kOk)) report_.AddError(connection.answer);
    connection.answer.clear();
    Start(connection);
  }

  static bool IsWhole(std::string_view answer) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t end = answer.find(kEnd);
    if (end == std::string_view::npos) return false;
    const std::size_t length = answer.find(kLength);
    if (length >= end) Die("an answer without Content-Length");
    std::size_t body = 0;
    std::from_chars(answer.data() + length + kLength.size(), answer.data() + end, body);
    return answer.size() >= end + kEnd.size() + body;
  }

  static constexpr std::string_view kOk = "HTTP/1.1 200";

  const Settings settings_;
  const std::string request_;
  std::vector<Connection> connections_;
  std::vector<pollfd> fds_;
  std::uint64_t started_ = 0;
  sluice::bench::LatencyReport report_;
};

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app{"CreateTask over REST on kept connections, one request outstanding on each."};
  app.add_option("--target", s.target)->required();
  app.add_option("--calls", s.calls)->check(CLI::PositiveNumber);
  app.add_option("--connections", s.connections)->check(CLI::PositiveNumber);
  app.add_option("--body", s.body_bytes);
  app.add_option("--queue", s.queue);
  app.add_option("--url", s.url);
  app.add_option("--schedule-in", s.schedule_in_seconds);
  CLI11_PARSE(app, argc, argv);
  return Load(s).Run();
}
