// SPDX-License-Identifier: Apache-2.0
#include "front/net/http_server.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/http_headers.h"
#include "base/text.h"
#include "front/net/http_exchange.h"
#include "front/net/http_header_rules.h"
#include "front/net/thread_signals.h"

namespace sluice::front::net {
namespace {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

// After the drain deadline, what the 503 answers get to reach the kernel.
constexpr auto kFlushTime = std::chrono::milliseconds(500);
// A refused body is still read up to this multiple of the limit: closing a
// connection with unread bytes resets it, and the client would lose the answer.
constexpr std::size_t kDiscardFactor = 2;
// Room of the library for one connection beside the request's header: its own
// structures, the answer's header, and a read buffer for the body.
constexpr std::size_t kConnectionOverheadBytes = std::size_t{16} * 1024;
constexpr unsigned kLibraryConnectionsMax = 1'000'000;  // the listener bounds them
constexpr const char* kTlsPriorities = "SECURE128:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3";

// Bounded so that adding it to a point in time cannot overflow.
std::chrono::nanoseconds Span(Duration d) {
  return absl::ToChronoNanoseconds(std::min(d, absl::Hours(24 * 365)));
}

// Of an overflowing or broken number nothing useful is known: "as much as can be".
std::uint64_t ParseLength(std::string_view text) {
  return ParseNumber<std::uint64_t>(text).value_or(UINT64_MAX);
}

// A request line may name the whole URL (RFC 9112 section 3.2.2); its path is meant.
std::string_view WithoutOrigin(std::string_view uri) {
  if (uri.substr(0, 7) != "http://" && uri.substr(0, 8) != "https://") return uri;
  const std::size_t path = uri.find('/', uri.find("//") + 2);
  return path == std::string_view::npos ? "/" : uri.substr(path);
}

}  // namespace

class HttpServer::Loop {
 public:
  Loop(const HttpOptions& options, HttpHandler* handler)
      : options_(options), handler_(handler), mailbox_(std::make_shared<HttpMailbox>()) {}

  ~Loop() {
    for (MHD_Daemon* daemon : daemons_) {
      if (daemon != nullptr) MHD_stop_daemon(daemon);
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Status Init(const TlsMaterial* tls) {
    if (!mailbox_->ok()) return Unavailable("HTTP server: the system gives no more descriptors");
    daemons_[0] = StartDaemon(nullptr);
    if (daemons_[0] == nullptr) {
      return Unavailable("HTTP server: the HTTP library did not start (descriptors or memory)");
    }
    if (tls != nullptr) {
      daemons_[1] = StartDaemon(tls);
      if (daemons_[1] == nullptr) {
        return InvalidArgument(
            "HTTP server: TLS did not start; the certificate and the private key do not belong "
            "together or are damaged");
      }
    }
    thread_ = std::thread([this] {
      BlockSignalsInThisThread();
      Run();
    });
    return absl::OkStatus();
  }

  void Serve(AcceptedConnection connection) { mailbox_->Post(std::move(connection)); }
  void BeginDrain() { mailbox_->Drain(); }

  void Stop(Duration within) {
    if (!thread_.joinable()) return;
    mailbox_->StopAt(SteadyClock::now() + Span(within));
    thread_.join();
  }

 private:
  // One open connection; its address is the library's context pointer.
  struct Connection {
    int fd = -1;  // the library's, valid until it reports the close
    bool is_tls = false;
    bool is_first_request = true;  // its header deadline began with the connection
    std::string peer;
    ConnectionPlace place;
    MHD_Connection* handle = nullptr;
    TimePoint deadline = TimePoint::max();
    std::shared_ptr<HttpExchange> exchange;  // null between requests
  };

  MHD_Daemon* StartDaemon(const TlsMaterial* tls) {
    const auto function = [](auto* f) { return reinterpret_cast<std::intptr_t>(f); };
    std::vector<MHD_OptionItem> items = {
        {MHD_OPTION_CONNECTION_LIMIT, static_cast<std::intptr_t>(kLibraryConnectionsMax), nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT,
         static_cast<std::intptr_t>(options_.header_bytes_max + kConnectionOverheadBytes), nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, 0, nullptr},  // the deadlines here are stricter
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
        {MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, nullptr},
        {MHD_OPTION_NOTIFY_CONNECTION, function(&Loop::OnConnection), this},
        {MHD_OPTION_NOTIFY_COMPLETED, function(&Loop::OnCompleted), this},
        {MHD_OPTION_URI_LOG_CALLBACK, function(&Loop::OnUri), this},
        {MHD_OPTION_UNESCAPE_CALLBACK, function(&Loop::KeepEscapes), nullptr},
    };
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
    if (tls != nullptr) {
      flags |= MHD_USE_TLS;
      // The library only reads them.
      items.push_back(
          {MHD_OPTION_HTTPS_MEM_CERT, 0, const_cast<char*>(tls->certificate_chain_pem.c_str())});
      items.push_back(
          {MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char*>(tls->private_key_pem.c_str())});
      items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)});
    }
    items.push_back({MHD_OPTION_END, 0, nullptr});
    return MHD_start_daemon(flags, 0, nullptr, nullptr, &Loop::OnRequest, this, MHD_OPTION_ARRAY,
                            items.data(), MHD_OPTION_END);
  }

  void Run() {
    while (true) {
      HttpMailbox::Mail mail = mailbox_->Fetch();
      is_draining_ |= mail.is_draining;
      for (AcceptedConnection& connection : mail.connections) Add(std::move(connection));
      for (const auto& exchange : mail.answered) Resume(*exchange);
      RunLibrary();
      ExpireDeadlines();
      if (is_draining_) CloseIdle();
      if (mail.stop_at && (!HasOpenExchange() || SteadyClock::now() >= *mail.stop_at)) break;
      Wait(mail.stop_at);
    }
    Cut();
  }

  void RunLibrary() {
    for (MHD_Daemon* daemon : daemons_) {
      if (daemon != nullptr) MHD_run(daemon);
    }
  }

  void Wait(std::optional<TimePoint> until) {
    TimePoint next = until.value_or(TimePoint::max());
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
    std::array<pollfd, 3> fds{};
    nfds_t count = 0;
    fds[count++] = {mailbox_->wake_fd(), POLLIN, 0};
    for (MHD_Daemon* daemon : daemons_) {
      if (daemon == nullptr) continue;
      MHD_UNSIGNED_LONG_LONG library_millis = 0;
      if (MHD_get_timeout(daemon, &library_millis) == MHD_YES) {
        next = std::min(next, SteadyClock::now() + std::chrono::milliseconds(library_millis));
      }
      fds[count++] = {MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN, 0};
    }
    int millis = -1;
    if (next != TimePoint::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - SteadyClock::now());
      millis = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    ::poll(fds.data(), count, millis);
  }

  void Add(AcceptedConnection accepted) {
    MHD_Daemon* const daemon = daemons_[accepted.is_tls ? 1 : 0];
    SLUICE_CHECK(daemon != nullptr, "a TLS connection was handed over without a certificate");
    auto connection = std::make_unique<Connection>();
    connection->fd = accepted.fd.get();
    connection->is_tls = accepted.is_tls;
    connection->peer = accepted.peer.ToString();
    connection->place = std::move(accepted.place);
    adding_ = connection.get();
    connections_[adding_] = std::move(connection);
    SetDeadline(*adding_, options_.header_deadline);
    // The library owns the descriptor from here on, also when it fails.
    const int fd = accepted.fd.Release();
    if (MHD_add_connection(daemon, fd, accepted.peer.get(), accepted.peer.length()) != MHD_YES) {
      Forget(adding_);
    }
    adding_ = nullptr;
  }

  void Forget(Connection* connection) {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    ClearDeadline(*connection);
    connections_.erase(found);
  }

  void SetDeadline(Connection& connection, Duration from_now) {
    ClearDeadline(connection);
    connection.deadline = SteadyClock::now() + Span(from_now);
    deadlines_.insert({connection.deadline, &connection});
  }

  void ClearDeadline(Connection& connection) {
    deadlines_.erase({connection.deadline, &connection});
    connection.deadline = TimePoint::max();
  }

  void ExpireDeadlines() {
    const TimePoint now = SteadyClock::now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      Connection& connection = *deadlines_.begin()->second;
      ClearDeadline(connection);
      HangUp(connection);
    }
  }

  // The library sees the end of the stream and closes by its usual path.
  static void HangUp(const Connection& connection) { ::shutdown(connection.fd, SHUT_RDWR); }

  void CloseIdle() {
    for (const auto& [key, connection] : connections_) {
      if (connection->exchange == nullptr) HangUp(*connection);
    }
  }

  [[nodiscard]] bool HasOpenExchange() const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [](const auto& entry) { return entry.second->exchange != nullptr; });
  }

  // Answers what the drain deadline left open; then the library may stop, which
  // it must not while a connection is suspended.
  void Cut() {
    is_cut_ = true;
    mailbox_->Close();
    for (const auto& [key, connection] : connections_) {
      if (connection->exchange != nullptr && connection->exchange->is_suspended) {
        connection->exchange->Answer(ErrorResponse(503, "the server is shutting down"));
        Resume(*connection->exchange);
      }
    }
    const TimePoint flush_until = SteadyClock::now() + kFlushTime;
    RunLibrary();
    while (HasOpenExchange() && SteadyClock::now() < flush_until) {
      Wait(flush_until);
      RunLibrary();
    }
    for (MHD_Daemon*& daemon : daemons_) {
      if (daemon != nullptr) MHD_stop_daemon(std::exchange(daemon, nullptr));
    }
    deadlines_.clear();
    connections_.clear();
  }

  // A suspended connection cannot close, so the handle is good while suspended.
  static void Resume(HttpExchange& exchange) {
    if (std::exchange(exchange.is_suspended, false)) MHD_resume_connection(exchange.handle);
  }

  MHD_Result ReadHeader(Connection& connection, const char* method, std::string_view version) {
    HttpExchange& exchange = *connection.exchange;
    exchange.has_header = true;
    exchange.request.method = method;
    MHD_get_connection_values_n(connection.handle, MHD_HEADER_KIND, &Loop::OnHeader,
                                &exchange.request);
    if (auto fault = FindHeaderFault(exchange.request, version == MHD_HTTP_VERSION_1_0)) {
      // What follows on this connection may be a body or another request.
      exchange.is_last = true;
      exchange.response = ErrorResponse(fault->status, fault->text);
      return Queue(connection);
    }
    std::size_t header_bytes = exchange.request.path.size() + exchange.request.query.size();
    for (const HttpHeader& header : exchange.request.headers) {
      header_bytes += header.name.size() + header.value.size() + 4;  // ": " and CR LF
    }
    if (header_bytes > options_.header_bytes_max) {
      exchange.response =
          ErrorResponse(431, fmt::format("the request header has {} bytes; at most {} are allowed",
                                         header_bytes, options_.header_bytes_max));
      return Queue(connection);
    }
    SetDeadline(connection, options_.body_deadline);
    const std::string* const length = exchange.request.FindHeader("Content-Length");
    if (length == nullptr || ParseLength(*length) <= options_.body_bytes_max) return MHD_YES;
    exchange.refusal = BodyTooLarge();
    const std::string* const expect = exchange.request.FindHeader("Expect");
    const bool is_asking_first = expect != nullptr && IsSameHeader(*expect, "100-continue");
    if (!is_asking_first && ParseLength(*length) <= DiscardBytesMax()) return MHD_YES;
    exchange.response = *std::move(exchange.refusal);
    return Queue(connection);
  }

  MHD_Result ReadBody(HttpExchange& exchange, std::string_view part) {
    exchange.body_bytes += part.size();
    if (exchange.body_bytes > DiscardBytesMax()) return MHD_NO;  // closes the connection
    if (!exchange.refusal && exchange.body_bytes > options_.body_bytes_max) {
      exchange.refusal = BodyTooLarge();
      exchange.request.body = {};
    }
    if (!exchange.refusal) exchange.request.body.append(part);
    return MHD_YES;
  }

  MHD_Result Finish(Connection& connection) {
    HttpExchange& exchange = *connection.exchange;
    if (exchange.refusal) {
      exchange.response = *std::move(exchange.refusal);
      return Queue(connection);
    }
    if (!exchange.is_dispatched) {
      exchange.is_dispatched = true;
      ClearDeadline(connection);
      if (is_cut_) {
        exchange.Answer(ErrorResponse(503, "the server is shutting down"));
      } else {
        exchange.request.peer = connection.peer;
        exchange.request.is_tls = connection.is_tls;
        handler_->Handle(std::move(exchange.request), HttpResponder(connection.exchange));
      }
    }
    if (exchange.HasAnswerOrWait()) return Queue(connection);
    exchange.is_suspended = true;
    exchange.handle = connection.handle;
    MHD_suspend_connection(connection.handle);
    return MHD_YES;
  }

  MHD_Result Queue(Connection& connection) {
    HttpResponse& answer = connection.exchange->response;
    // The body stays in the exchange, which lives until the answer is sent.
    MHD_Response* const response = MHD_create_response_from_buffer(
        answer.body.size(), answer.body.data(), MHD_RESPMEM_PERSISTENT);
    if (response == nullptr) return MHD_NO;
    bool is_complete = true;
    const auto add = [response, &is_complete](const char* name, const std::string& value) {
      is_complete &= MHD_add_response_header(response, name, value.c_str()) == MHD_YES;
    };
    if (!answer.content_type.empty()) add(MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
    for (const HttpHeader& header : answer.headers) add(header.name.c_str(), header.value);
    if (is_draining_ || connection.exchange->is_last) add(MHD_HTTP_HEADER_CONNECTION, "close");
    // A header the protocol does not allow is our handler's mistake; a part of an
    // answer must not be sent as if it were all.
    const auto status = static_cast<unsigned>(is_complete ? answer.status : 500);
    const MHD_Result result = MHD_queue_response(connection.handle, status, response);
    MHD_destroy_response(response);
    SetDeadline(connection, options_.answer_deadline);
    return result;
  }

  [[nodiscard]] std::size_t DiscardBytesMax() const {
    return options_.body_bytes_max * kDiscardFactor;
  }

  [[nodiscard]] HttpResponse BodyTooLarge() const {
    return ErrorResponse(413, fmt::format("the request body is larger than the {} bytes allowed",
                                          options_.body_bytes_max));
  }

  // The library's callbacks. All run on our thread, inside MHD_run, MHD_add_connection
  // or MHD_stop_daemon.

  static Connection* Of(MHD_Connection* handle) {
    return static_cast<Connection*>(
        MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  }

  static void OnConnection(void* self, MHD_Connection* handle, void** context,
                           MHD_ConnectionNotificationCode code) {
    auto* const loop = static_cast<Loop*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      loop->adding_->handle = handle;
      *context = loop->adding_;
    } else {
      // Before the library closes the descriptor: afterwards its number may belong
      // to another connection, and a late deadline would hang up on that one.
      loop->Forget(static_cast<Connection*>(*context));
    }
  }

  // The request line is there: a request has begun.
  static void* OnUri(void* self, const char* uri, MHD_Connection* handle) {
    auto* const loop = static_cast<Loop*>(self);
    Connection& connection = *Of(handle);
    connection.exchange = std::make_shared<HttpExchange>(loop->mailbox_);
    const std::string_view text = WithoutOrigin(uri);
    const std::size_t mark = text.find('?');
    connection.exchange->request.path = text.substr(0, mark);
    if (mark != std::string_view::npos) {
      const std::string_view query = text.substr(mark + 1);
      connection.exchange->request.query = query;
      // The library would split the arguments too, into this connection's memory, and
      // gives no answer when some hundreds of them do not fit. The text is its own,
      // writable and ended by a NUL; with one in front it finds no arguments.
      if (!query.empty()) const_cast<char&>(query.front()) = '\0';
    }
    if (std::exchange(connection.is_first_request, false)) return nullptr;
    loop->SetDeadline(connection, loop->options_.header_deadline);
    return nullptr;
  }

  static MHD_Result OnRequest(void* self, MHD_Connection* handle, const char* /*url*/,
                              const char* method, const char* version, const char* upload,
                              std::size_t* upload_bytes, void** /*context*/) {
    auto* const loop = static_cast<Loop*>(self);
    Connection& connection = *Of(handle);
    HttpExchange& exchange = *connection.exchange;
    if (!exchange.has_header) return loop->ReadHeader(connection, method, version);
    if (*upload_bytes > 0) {
      const std::string_view part(upload, std::exchange(*upload_bytes, 0));
      return loop->ReadBody(exchange, part);
    }
    return loop->Finish(connection);
  }

  static void OnCompleted(void* self, MHD_Connection* handle, void** /*context*/,
                          MHD_RequestTerminationCode /*code*/) {
    auto* const loop = static_cast<Loop*>(self);
    Connection& connection = *Of(handle);
    connection.exchange.reset();
    loop->SetDeadline(connection, loop->options_.idle_deadline);
  }

  static MHD_Result OnHeader(void* request, MHD_ValueKind /*kind*/, const char* name,
                             std::size_t name_bytes, const char* value, std::size_t value_bytes) {
    static_cast<HttpRequest*>(request)->headers.push_back(
        {std::string(name, name_bytes), value == nullptr ? "" : std::string(value, value_bytes)});
    return MHD_YES;
  }

  static std::size_t KeepEscapes(void* /*self*/, MHD_Connection* /*handle*/, char* text) {
    return std::string_view(text).size();
  }

  const HttpOptions options_;
  HttpHandler* const handler_;
  const std::shared_ptr<HttpMailbox> mailbox_;
  std::thread thread_;

  // The thread's own.
  std::array<MHD_Daemon*, 2> daemons_{};  // cleartext, TLS
  absl::flat_hash_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<TimePoint, Connection*>> deadlines_;
  Connection* adding_ = nullptr;
  bool is_draining_ = false;
  bool is_cut_ = false;
};

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options,
                                                        const TlsMaterial* tls,
                                                        HttpHandler* handler) {
  auto loop = std::make_unique<Loop>(options, handler);
  SLUICE_RETURN_IF_ERROR(loop->Init(tls));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::~HttpServer() { Stop(absl::ZeroDuration()); }
void HttpServer::Serve(AcceptedConnection connection) { loop_->Serve(std::move(connection)); }
void HttpServer::BeginDrain() { loop_->BeginDrain(); }
void HttpServer::Stop(Duration within) { loop_->Stop(within); }

}  // namespace sluice::front::net
