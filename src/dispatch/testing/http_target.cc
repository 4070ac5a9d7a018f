// SPDX-License-Identifier: Apache-2.0
#include "dispatch/testing/http_target.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "base/http_headers.h"
#include "base/status.h"
#include "dispatch/testing/connection.h"
#include "dispatch/testing/tls_identity.h"

namespace sluice::dispatch {
namespace {

constexpr int kBacklog = 4096;
constexpr std::size_t kEndlessPartBytes = 16 * 1024;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

/// A socket bound to a free loopback port.
int BoundSocket(std::uint16_t* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SLUICE_CHECK(fd >= 0, "cannot create a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  void* const raw = &address;
  SLUICE_CHECK(::bind(fd, static_cast<sockaddr*>(raw), length) == 0, "cannot bind a socket");
  SLUICE_CHECK(::getsockname(fd, static_cast<sockaddr*>(raw), &length) == 0,
               "cannot read a socket's name");
  *port = ntohs(address.sin_port);
  return fd;
}

/// Takes one request from the front of `bytes`; nothing when it is not all there.
std::optional<ReceivedRequest> TakeRequest(std::string* bytes) {
  const std::size_t head_end = bytes->find(kHeadEnd);
  if (head_end == std::string::npos) return std::nullopt;
  ReceivedRequest request;
  request.head = bytes->substr(0, head_end + kHeadEnd.size());
  std::string_view rest = request.head;
  const auto take_until = [&rest](std::string_view end) {
    const std::size_t at = std::min(rest.find(end), rest.size());
    const std::string_view part = rest.substr(0, at);
    rest.remove_prefix(std::min(at + end.size(), rest.size()));
    return part;
  };
  request.method = take_until(" ");
  request.target = take_until(" ");
  take_until("\r\n");
  std::size_t body_bytes = 0;
  while (rest != "\r\n" && !rest.empty()) {
    std::string_view line = take_until("\r\n");
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (IsSameHeader(name, "Content-Length")) {
      std::from_chars(value.data(), value.data() + value.size(), body_bytes);
    }
    request.headers.emplace_back(name, value);
  }
  if (bytes->size() - request.head.size() < body_bytes) return std::nullopt;
  request.body = bytes->substr(request.head.size(), body_bytes);
  bytes->erase(0, request.head.size() + body_bytes);
  return request;
}

std::string HeadOf(const HttpAnswer& answer, std::optional<std::size_t> body_bytes) {
  std::string head = fmt::format("HTTP/1.1 {} Scripted\r\n", answer.status);
  for (const auto& [name, value] : answer.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (body_bytes.has_value()) head += fmt::format("Content-Length: {}\r\n", *body_bytes);
  if (answer.closes) head += "Connection: close\r\n";
  return head;
}

/// Sends the answer. True: it is complete and the connection may go on.
/// `is_cancelled` is set when the client went away before the end.
bool SendAnswer(Connection& connection, const ReceivedRequest& request, const HttpAnswer& answer,
                bool* is_cancelled) {
  *is_cancelled = true;
  if (answer.delay > absl::ZeroDuration() && !connection.Linger(answer.delay)) return false;
  switch (answer.form) {
    case HttpAnswer::Form::kHang:
      connection.Linger(absl::InfiniteDuration());
      return false;
    case HttpAnswer::Form::kClose:
      *is_cancelled = false;
      return false;
    case HttpAnswer::Form::kGarbage:
      *is_cancelled = !connection.Write("220 not the protocol you expect\r\n\r\n");
      return false;
    case HttpAnswer::Form::kSlowHead:
      for (const char c : HeadOf(answer, 0) + "\r\n") {
        if (!connection.Linger(answer.pace) || !connection.Write({&c, 1})) return false;
      }
      break;
    case HttpAnswer::Form::kEndlessHead:
      for (std::string part = HeadOf(answer, std::nullopt); connection.Write(part);) {
        part = fmt::format("X-More: {}\r\n", std::string(kEndlessPartBytes, 'm'));
        if (!connection.Linger(answer.pace)) return false;
      }
      return false;
    case HttpAnswer::Form::kEndlessBody:
      for (std::string part = HeadOf(answer, std::nullopt) + "\r\n"; connection.Write(part);) {
        part.assign(kEndlessPartBytes, 'b');
        if (!connection.Linger(answer.pace)) return false;
      }
      return false;
    case HttpAnswer::Form::kTruncatedBody:
      *is_cancelled =
          !connection.Write(HeadOf(answer, 2 * answer.body.size()) + "\r\n" + answer.body);
      return false;
    case HttpAnswer::Form::kComplete: {
      const bool has_body =
          request.method != "HEAD" && answer.status != 204 && answer.status != 304;
      std::string bytes =
          HeadOf(answer, has_body ? std::optional(answer.body.size()) : std::nullopt);
      bytes += "\r\n";
      if (has_body) bytes += answer.body;
      if (!connection.Write(bytes)) return false;
      break;
    }
  }
  *is_cancelled = false;
  return !answer.closes;
}

class ThreadedHttpTarget final : public HttpTarget {
 public:
  explicit ThreadedHttpTarget(const Options& options) : options_(options) {
    if (options.is_tls) identity_ = MakeTlsIdentity();
    listener_ = BoundSocket(&port_);
    SLUICE_CHECK(::listen(listener_, kBacklog) == 0, "cannot listen");
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~ThreadedHttpTarget() override { Stop(); }

  [[nodiscard]] std::uint16_t port() const override { return port_; }
  [[nodiscard]] std::string Url(std::string_view path) const override {
    return fmt::format("{}://127.0.0.1:{}{}", options_.is_tls ? "https" : "http", port_, path);
  }
  [[nodiscard]] const std::string& certificate() const override { return identity_.certificate; }

  void Script(std::vector<HttpAnswer> answers) override {
    const std::lock_guard lock(mutex_);
    script_.insert(script_.end(), answers.begin(), answers.end());
  }
  void SetDefault(HttpAnswer answer) override {
    const std::lock_guard lock(mutex_);
    default_ = std::move(answer);
  }
  void SetHandler(Handler handler) override {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }

  [[nodiscard]] std::vector<ReceivedRequest> requests() const override {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] std::size_t request_count() const override {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }
  [[nodiscard]] std::size_t connection_count() const override {
    const std::lock_guard lock(mutex_);
    return connection_count_;
  }
  [[nodiscard]] std::size_t concurrency_max() const override {
    const std::lock_guard lock(mutex_);
    return concurrency_max_;
  }
  [[nodiscard]] std::size_t cancelled_count() const override {
    const std::lock_guard lock(mutex_);
    return cancelled_count_;
  }
  void Clear() override {
    const std::lock_guard lock(mutex_);
    requests_.clear();
    connection_count_ = 0;
    cancelled_count_ = 0;
    concurrency_max_ = concurrency_;
  }

  bool WaitForRequests(std::size_t count, Duration at_most) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoNanoseconds(at_most),
                             [&] { return requests_.size() >= count; });
  }
  bool WaitForCancelled(std::size_t count, Duration at_most) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoNanoseconds(at_most),
                             [&] { return cancelled_count_ >= count; });
  }

  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) return;
      is_stopped_ = true;
      for (Served& served : served_) served.connection.Shutdown();
    }
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (Served& served : served_) served.thread.join();
    served_.clear();
  }

 private:
  struct Served {
    Served(int fd, SSL_CTX* tls) : connection(fd, tls) {}
    Connection connection;
    std::thread thread;
    bool is_over = false;  // guarded by mutex_
  };

  void Accept() {
    // A TLS library writes to sockets without a way to suppress the signal. The
    // connections' threads inherit this.
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const std::lock_guard lock(mutex_);
      if (is_stopped_) {
        if (fd >= 0) ::close(fd);
        return;
      }
      if (fd < 0) continue;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      served_.remove_if([](Served& served) {
        if (served.is_over) served.thread.join();
        return served.is_over;
      });
      Served& served = served_.emplace_back(fd, identity_.context.get());
      const std::uint64_t number = ++connections_;
      ++connection_count_;
      served.thread = std::thread([this, &served, number] { Serve(served, number); });
    }
  }

  void Serve(Served& served, std::uint64_t number) {
    if (served.connection.Open()) ServeRequests(served.connection, number);
    // The client sees the end at once; the descriptor goes with the entry.
    served.connection.Shutdown();
    const std::lock_guard lock(mutex_);
    served.is_over = true;
  }

  void ServeRequests(Connection& connection, std::uint64_t number) {
    std::string bytes;
    std::size_t answered = 0;
    for (;;) {
      std::optional<ReceivedRequest> request = TakeRequest(&bytes);
      if (!request.has_value()) {
        if (!connection.Read(&bytes)) return;
        continue;
      }
      request->connection = number;
      HttpAnswer answer = Receive(*request);
      ++answered;
      if (answered == options_.requests_per_connection_max) answer.closes = true;
      bool is_cancelled = false;
      const bool goes_on = SendAnswer(connection, *request, answer, &is_cancelled);
      Answered(is_cancelled);
      if (!goes_on) return;
    }
  }

  HttpAnswer Receive(const ReceivedRequest& request) {
    Handler handler;
    HttpAnswer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      concurrency_max_ = std::max(concurrency_max_, ++concurrency_);
      answer = default_;
      if (handler_ != nullptr) {
        handler = handler_;
      } else if (!script_.empty()) {
        answer = std::move(script_.front());
        script_.pop_front();
      }
    }
    changed_.notify_all();
    return handler != nullptr ? handler(request) : answer;
  }

  void Answered(bool is_cancelled) {
    {
      const std::lock_guard lock(mutex_);
      --concurrency_;
      if (is_cancelled) ++cancelled_count_;
    }
    changed_.notify_all();
  }

  const Options options_;
  TlsIdentity identity_;
  int listener_ = -1;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  bool is_stopped_ = false;
  std::deque<HttpAnswer> script_;
  HttpAnswer default_;
  Handler handler_;
  std::vector<ReceivedRequest> requests_;
  std::uint64_t connections_ = 0;
  std::size_t connection_count_ = 0;
  std::size_t concurrency_ = 0;
  std::size_t concurrency_max_ = 0;
  std::size_t cancelled_count_ = 0;
  std::list<Served> served_;

  std::thread acceptor_;
};

}  // namespace

std::optional<std::string> ReceivedRequest::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return value;
  }
  return std::nullopt;
}

std::size_t ReceivedRequest::CountHeader(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(),
                    [&](const auto& header) { return IsSameHeader(header.first, name); }));
}

std::unique_ptr<HttpTarget> HttpTarget::Start(const Options& options) {
  return std::make_unique<ThreadedHttpTarget>(options);
}

std::uint16_t ClosedPort() {
  std::uint16_t port = 0;
  ::close(BoundSocket(&port));
  return port;
}

}  // namespace sluice::dispatch
