// SPDX-License-Identifier: Apache-2.0
#include "front/net/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "front/net/connection_peek.h"
#include "front/net/thread_signals.h"

namespace sluice::front::net {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long accepting rests after the kernel was short of memory or descriptors.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr int kEventsPerRound = 128;
// Bounds the accepts of one round, so that a flood cannot starve pending peeks.
constexpr int kAcceptsPerRound = 64;

// A person who opens http:// on a port that wants https:// should learn why.
constexpr std::string_view kCleartextRefused =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    "Content-Length: 43\r\n\r\nthis address is served over TLS: use https\n";

enum class Source : std::uint32_t { kWake, kListenSocket, kPending, kGrpcWatch };

std::uint64_t Tag(Source source, std::size_t key) {
  return static_cast<std::uint64_t>(source) << 32 | key;
}

void SetSocketOptions(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A peer that vanished without a word is found by the kernel within about two
  // minutes, also while its request waits for an answer and nothing is sent.
  const int idle_seconds = 60;
  const int interval_seconds = 15;
  const int probes = 4;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

UniqueFd OpenSpare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

class Listener::Loop {
 public:
  Loop(std::vector<ListenSocket> sockets, const ListenerOptions& options, ConnectionSink* sink)
      : options_(options),
        pending_deadline_(
            absl::ToChronoNanoseconds(std::min(options.pending_deadline, absl::Hours(24)))),
        sink_(sink),
        sockets_(std::move(sockets)),
        wake_(std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
        is_full_(std::make_shared<std::atomic<bool>>(false)),
        spare_(OpenSpare()),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    places_ = std::make_shared<ConnectionPlaces>([wake = wake_, is_full = is_full_] {
      if (is_full->load()) Wake(wake->get());
    });
  }

  Status Init() {
    if (!*wake_ || !epoll_ || !spare_) {
      return Unavailable("listener: the system gives no more descriptors");
    }
    SLUICE_CHECK(Watch(wake_->get(), EPOLLIN, Tag(Source::kWake, 0)), "epoll refuses an eventfd");
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if (!Watch(sockets_[i].fd.get(), EPOLLIN, Tag(Source::kListenSocket, i))) {
        return Unavailable("listener: the system cannot watch one more descriptor");
      }
    }
    thread_ = std::thread([this] {
      BlockSignalsInThisThread();
      Run();
    });
    return absl::OkStatus();
  }

  void Stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    Wake(wake_->get());
    thread_.join();
    pending_.clear();
    grpc_watches_.clear();
    sockets_.clear();
  }

  [[nodiscard]] ListenerStats stats() const {
    ListenerStats stats;
    stats.accepted = counters_.accepted;
    stats.grpc = counters_.grpc;
    stats.http1 = counters_.http1;
    stats.refused = counters_.refused;
    stats.pending_expired = counters_.pending_expired;
    stats.pending_evicted = counters_.pending_evicted;
    stats.pending_hung_up = counters_.pending_hung_up;
    stats.out_of_descriptors = counters_.out_of_descriptors;
    stats.wakeups = counters_.wakeups;
    stats.open = places_->taken();
    stats.pending = counters_.pending;
    return stats;
  }

 private:
  struct Pending {
    AcceptedConnection connection;
    SteadyClock::time_point deadline;
    bool is_cleartext_allowed;
    bool is_tls_allowed;
  };
  using PendingList = std::list<Pending>;  // by deadline, oldest first

  // gRPC closes its connections without telling. A duplicate of the descriptor
  // sees the hang-up, because gRPC shuts a socket down before it closes it; until
  // then the duplicate holds the connection's place.
  struct GrpcWatch {
    UniqueFd duplicate;
    ConnectionPlace place;
  };

  struct Counters {
    std::atomic<std::int64_t> accepted{0}, grpc{0}, http1{0}, refused{0}, pending_expired{0},
        pending_evicted{0}, pending_hung_up{0}, out_of_descriptors{0}, wakeups{0}, pending{0};
  };

  static void Wake(int fd) {
    const std::uint64_t one = 1;
    // The only failure is a counter at its maximum, and then the thread wakes anyway.
    [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
  }

  bool Watch(int fd, std::uint32_t events, std::uint64_t tag) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void Run() {
    std::array<epoll_event, kEventsPerRound> events;
    while (!stop_) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerRound, TimeoutMillis());
      ++counters_.wakeups;
      SLUICE_CHECK(count >= 0 || errno == EINTR, "epoll_wait failed on descriptors of our own");
      for (int i = 0; i < count; ++i) Dispatch(events[static_cast<std::size_t>(i)]);
      ExpirePending();
      UpdateAccepting();
    }
  }

  // Rounded up: waking a fraction of a millisecond early would make a round in vain.
  [[nodiscard]] int TimeoutMillis() const {
    auto next = SteadyClock::time_point::max();
    if (!pending_.empty()) next = pending_.front().deadline;
    if (paused_until_ != SteadyClock::time_point{}) next = std::min(next, paused_until_);
    if (next == SteadyClock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - SteadyClock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }

  void Dispatch(const epoll_event& event) {
    const auto key = static_cast<std::uint32_t>(event.data.u64);
    switch (static_cast<Source>(event.data.u64 >> 32)) {
      case Source::kWake: {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t n = ::read(wake_->get(), &ignored, sizeof ignored);
        return;
      }
      case Source::kListenSocket:
        AcceptFrom(sockets_[key]);
        return;
      case Source::kPending: {
        const auto found = pending_by_fd_.find(static_cast<int>(key));
        if (found != pending_by_fd_.end()) Peek(found->second, event.events);
        return;
      }
      case Source::kGrpcWatch:
        // An error alone is not the end: gRPC still has bytes or a close to come.
        if ((event.events & EPOLLHUP) != 0) grpc_watches_.erase(static_cast<int>(key));
        return;
    }
  }

  void AcceptFrom(const ListenSocket& socket) {
    for (int i = 0; i < kAcceptsPerRound && places_->taken() < options_.connections_max; ++i) {
      sockaddr_storage storage{};
      socklen_t length = sizeof storage;
      auto* const peer = reinterpret_cast<sockaddr*>(&storage);
      UniqueFd fd(::accept4(socket.fd.get(), peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) {
        if (errno == EAGAIN) return;
        if (errno == EMFILE || errno == ENFILE) {
          if (!RefuseOnSpare(socket.fd.get())) return;
          continue;
        }
        if (errno == ENOBUFS || errno == ENOMEM) return PauseAccepting();
        continue;  // this one connection failed while it waited
      }
      ++counters_.accepted;
      SetSocketOptions(fd.get());
      AddPending(socket, std::move(fd), SocketAddress(peer, length));
    }
  }

  // Without a descriptor the connection can neither be served nor taken off the
  // backlog. The spare one lets us take it and say no by closing it. True: there
  // may be more. The kernel asks for a descriptor before it looks at the backlog,
  // so an empty one shows only here.
  bool RefuseOnSpare(int listener_fd) {
    spare_.Reset();
    UniqueFd refused(::accept4(listener_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool is_taken = static_cast<bool>(refused);
    const bool is_backlog_empty = !is_taken && errno == EAGAIN;
    // Counted first: who sees the connection closed finds it in the figures.
    if (is_taken) ++counters_.out_of_descriptors;
    refused.Reset();
    spare_ = OpenSpare();
    if (!spare_ || (!is_taken && !is_backlog_empty)) PauseAccepting();
    return is_taken && spare_;
  }

  void AddPending(const ListenSocket& socket, UniqueFd fd, const SocketAddress& peer) {
    if (pending_.size() >= static_cast<std::size_t>(options_.pending_max)) {
      ++counters_.pending_evicted;
      Drop(pending_.begin());
    }
    const int raw = fd.get();
    Pending entry;
    entry.connection.fd = std::move(fd);
    entry.connection.listener_fd = socket.fd.get();
    entry.connection.peer = peer;
    entry.connection.place = ConnectionPlace(places_);
    entry.deadline = SteadyClock::now() + pending_deadline_;
    entry.is_cleartext_allowed = socket.is_cleartext_allowed;
    entry.is_tls_allowed = socket.is_tls_allowed;
    pending_.push_back(std::move(entry));
    pending_by_fd_[raw] = std::prev(pending_.end());
    counters_.pending = static_cast<std::int64_t>(pending_.size());
    // Edge-triggered: bytes that were looked at stay in the socket, and a level
    // trigger would report them again and again until the next ones come.
    if (!Watch(raw, EPOLLIN | EPOLLRDHUP | EPOLLET, Tag(Source::kPending, Key(raw)))) {
      Drop(std::prev(pending_.end()));
      PauseAccepting();
    }
  }

  static std::size_t Key(int fd) { return static_cast<std::size_t>(fd); }

  void Peek(PendingList::iterator entry, std::uint32_t events) {
    const ssize_t count =
        ::recv(entry->connection.fd.get(), peek_buffer_.data(), peek_buffer_.size(), MSG_PEEK);
    if (count < 0 && (errno == EAGAIN || errno == EINTR) && (events & EPOLLHUP) == 0) return;
    if (count <= 0) {
      ++counters_.pending_hung_up;
      return Drop(entry);
    }
    switch (ClassifyConnection({peek_buffer_.data(), static_cast<std::size_t>(count)})) {
      case PeekVerdict::kNeedMore:
        // The peer has closed its side, so the missing bytes will never come.
        if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
          ++counters_.pending_hung_up;
          Drop(entry);
        }
        return;
      case PeekVerdict::kGrpcCleartext:
        return entry->is_cleartext_allowed ? HandOver(entry, Protocol::kGrpc, false)
                                           : Refuse(entry, {});
      case PeekVerdict::kHttp1Cleartext:
        return entry->is_cleartext_allowed ? HandOver(entry, Protocol::kHttp1, false)
                                           : Refuse(entry, kCleartextRefused);
      case PeekVerdict::kGrpcTls:
        return entry->is_tls_allowed ? HandOver(entry, Protocol::kGrpc, true) : Refuse(entry, {});
      case PeekVerdict::kHttp1Tls:
        return entry->is_tls_allowed ? HandOver(entry, Protocol::kHttp1, true) : Refuse(entry, {});
      case PeekVerdict::kRefuse:
        return Refuse(entry, {});
    }
  }

  void Refuse(PendingList::iterator entry, std::string_view answer) {
    ++counters_.refused;
    const int fd = entry->connection.fd.get();
    if (!answer.empty()) {
      // Unread bytes at close make the kernel send a reset, which may overtake
      // the answer; the request is a few hundred bytes and already here.
      [[maybe_unused]] const ssize_t sent = ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      [[maybe_unused]] const ssize_t read =
          ::recv(fd, peek_buffer_.data(), peek_buffer_.size(), MSG_DONTWAIT);
    }
    Drop(entry);
  }

  AcceptedConnection TakeOut(PendingList::iterator entry) {
    AcceptedConnection connection = std::move(entry->connection);
    const int fd = connection.fd.get();
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    pending_by_fd_.erase(fd);
    pending_.erase(entry);
    counters_.pending = static_cast<std::int64_t>(pending_.size());
    return connection;
  }

  void Drop(PendingList::iterator entry) { static_cast<void>(TakeOut(entry)); }

  void HandOver(PendingList::iterator entry, Protocol protocol, bool is_tls) {
    AcceptedConnection connection = TakeOut(entry);
    connection.protocol = protocol;
    connection.is_tls = is_tls;
    if (protocol == Protocol::kHttp1) {
      ++counters_.http1;
    } else {
      UniqueFd duplicate(::fcntl(connection.fd.get(), F_DUPFD_CLOEXEC, 0));
      const int raw = duplicate.get();
      if (!duplicate || !Watch(raw, EPOLLET, Tag(Source::kGrpcWatch, Key(raw)))) {
        ++counters_.out_of_descriptors;
        return;
      }
      grpc_watches_[raw] = {std::move(duplicate), std::move(connection.place)};
      ++counters_.grpc;
    }
    sink_->Take(std::move(connection));
  }

  void ExpirePending() {
    if (pending_.empty()) return;
    const auto now = SteadyClock::now();
    while (!pending_.empty() && pending_.front().deadline <= now) {
      ++counters_.pending_expired;
      Drop(pending_.begin());
    }
  }

  void PauseAccepting() { paused_until_ = SteadyClock::now() + kAcceptPause; }

  // Turns the listening sockets off while nothing may be accepted, and on again.
  void UpdateAccepting() {
    if (paused_until_ != SteadyClock::time_point{} && SteadyClock::now() >= paused_until_) {
      paused_until_ = {};
      if (!spare_) spare_ = OpenSpare();
    }
    bool is_full = places_->taken() >= options_.connections_max;
    is_full_->store(is_full);
    // A place given back just before the flag was up did not wake us.
    if (is_full) is_full = places_->taken() >= options_.connections_max;
    const bool is_accepting = !is_full && paused_until_ == SteadyClock::time_point{};
    if (is_accepting == is_accepting_) return;
    is_accepting_ = is_accepting;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      epoll_event event{};
      event.events = is_accepting ? static_cast<std::uint32_t>(EPOLLIN) : 0U;
      event.data.u64 = Tag(Source::kListenSocket, i);
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, sockets_[i].fd.get(), &event);
    }
  }

  const ListenerOptions options_;
  const std::chrono::nanoseconds pending_deadline_;
  ConnectionSink* const sink_;
  std::vector<ListenSocket> sockets_;
  const std::shared_ptr<UniqueFd> wake_;  // shared with `places_`, which may outlive us
  const std::shared_ptr<std::atomic<bool>> is_full_;
  std::shared_ptr<ConnectionPlaces> places_;
  UniqueFd spare_;
  UniqueFd epoll_;
  Counters counters_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  // The thread's own.
  PendingList pending_;
  absl::flat_hash_map<int, PendingList::iterator> pending_by_fd_;
  absl::flat_hash_map<int, GrpcWatch> grpc_watches_;  // by the duplicate
  std::array<char, kPeekBytesMax> peek_buffer_;
  SteadyClock::time_point paused_until_{};  // zero: not paused
  bool is_accepting_ = true;
};

StatusOr<std::unique_ptr<Listener>> Listener::Start(std::vector<ListenSocket> sockets,
                                                    const ListenerOptions& options,
                                                    ConnectionSink* sink) {
  if (options.connections_max < 1 || options.pending_max < 1) {
    return InvalidArgument("listener: connections_max {} and pending_max {} must be at least 1",
                           options.connections_max, options.pending_max);
  }
  auto loop = std::make_unique<Loop>(std::move(sockets), options, sink);
  SLUICE_RETURN_IF_ERROR(loop->Init());
  return std::unique_ptr<Listener>(new Listener(std::move(loop)));
}

Listener::Listener(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Listener::~Listener() { Stop(); }
void Listener::Stop() { loop_->Stop(); }
ListenerStats Listener::stats() const { return loop_->stats(); }

}  // namespace sluice::front::net
