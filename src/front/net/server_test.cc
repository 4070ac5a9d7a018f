// SPDX-License-Identifier: Apache-2.0
#include "front/net/server.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "front/net/test_client.h"

// Proves the two protocols on one port, as their real clients see them: gRPC's
// own client, an HTTP/1.1 socket, and a TLS client whose bytes pass through a
// proxy that cuts them. Start, drain, health and reflection are proved here too.

namespace sluice::front::net {
namespace {

using testing::HttpReply;
using testing::kPatience;
using testing::ParseReply;
using testing::ReceiveReply;
using testing::TestCertificate;
using testing::TestSocket;
using testing::TestTlsClient;
using testing::WaitUntil;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// HTTP/2 frames without payload: SETTINGS, and its acknowledgement.
const std::string kSettings("\0\0\0\x04\0\0\0\0\0", 9);
const std::string kSettingsAck("\0\0\0\x04\x01\0\0\0\0", 9);
const std::string kPing = std::string("\0\0\x08\x06\0\0\0\0\0", 9) + "pingpong";
constexpr std::uint8_t kFrameSettings = 4;
constexpr std::uint8_t kFramePing = 6;
constexpr std::uint8_t kFrameGoAway = 7;
constexpr Duration kSoon = absl::Milliseconds(100);

grpc::ByteBuffer ToBuffer(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  static_cast<void>(buffer.Dump(&slices));
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Answers every call with its peer and its request; calls to `/test/Hold` wait
// until released or cancelled.
class EchoService final : public GrpcService {
  class Call;

 public:
  void Release() {
    std::vector<Call*> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (Call* call : held) call->Reply();
  }
  bool WaitForHeld() {
    return WaitUntil([this] {
      const std::lock_guard lock(mutex_);
      return !held_.empty();
    });
  }
  [[nodiscard]] int cancelled() const { return cancelled_; }

 private:
  class Call final : public GrpcEvent {
   public:
    explicit Call(EchoService* service) : service_(service) {
      service_->queue_->Enter();
      context_.AsyncNotifyWhenDone(static_cast<GrpcEvent*>(&ended_));
      grpc::ServerCompletionQueue* const queue = service_->queue_->completion_queue();
      service_->service_.RequestCall(&context_, &stream_, queue, queue, Tag());
    }
    ~Call() { service_->queue_->Leave(); }

    void Happen(bool is_ok) override {
      switch (stage_) {
        case Stage::kListening:
          if (!is_ok) return delete this;
          new Call(service_);
          stage_ = Stage::kReading;
          return stream_.Read(&request_, Tag());
        case Stage::kReading:
          if (!is_ok) return Fail();
          if (context_.method() != "/test/Hold") return Reply();
          {
            const std::lock_guard lock(service_->mutex_);
            service_->held_.push_back(this);
          }
          return;
        case Stage::kReplied:
          return Release();
      }
    }

    void Reply() {
      stage_ = Stage::kReplied;
      stream_.WriteAndFinish(ToBuffer(context_.peer() + " " + ToString(request_)),
                             grpc::WriteOptions(), grpc::Status::OK, Tag());
    }
    void Fail() {
      stage_ = Stage::kReplied;
      stream_.Finish(grpc::Status::CANCELLED, Tag());
    }

   private:
    enum class Stage { kListening, kReading, kReplied };

    class Ended final : public GrpcEvent {
     public:
      explicit Ended(Call* call) : call_(call) {}
      void Happen(bool /*is_ok*/) override {
        if (call_->context_.IsCancelled()) call_->service_->Cancelled(call_);
        call_->Release();
      }

     private:
      Call* const call_;
    };

    void* Tag() { return static_cast<GrpcEvent*>(this); }
    void Release() {
      if (--events_due_ == 0) delete this;
    }

    EchoService* const service_;
    Stage stage_ = Stage::kListening;
    std::atomic<int> events_due_ = 2;  // the reply's and the call's end
    Ended ended_{this};
    grpc::GenericServerContext context_;
    grpc::GenericServerAsyncReaderWriter stream_{&context_};
    grpc::ByteBuffer request_;
  };

  void Cancelled(Call* call) {
    ++cancelled_;
    {
      const std::lock_guard lock(mutex_);
      if (std::erase(held_, call) == 0) return;  // its reply is under way
    }
    call->Fail();
  }

  void Register(grpc::ServerBuilder& builder) override {
    builder.RegisterAsyncGenericService(&service_);
  }
  void Listen(GrpcQueue& queue) override {
    queue_ = &queue;
    new Call(this);
  }

  grpc::AsyncGenericService service_;
  GrpcQueue* queue_ = nullptr;
  std::mutex mutex_;
  std::vector<Call*> held_;
  std::atomic<int> cancelled_{0};
};

class EchoHandler final : public HttpHandler {
 public:
  void Handle(HttpRequest request, HttpResponder responder) override {
    if (request.path == "/hold") {
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(responder));
      return;
    }
    HttpResponse response;
    response.body = request.peer + (request.is_tls ? " tls" : " cleartext");
    responder.Send(std::move(response));
  }
  bool WaitForHeld() {
    return WaitUntil([this] {
      const std::lock_guard lock(mutex_);
      return !held_.empty();
    });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    for (HttpResponder& responder : held_) {
      HttpResponse response;
      response.body = "released";
      responder.Send(std::move(response));
    }
    held_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<HttpResponder> held_;
};

struct CallResult {
  grpc::Status status;
  std::string response;
};

// A call under way. What refers to the channel stays with the caller: gRPC's callback
// thread must never drop the last reference to one, since it would join itself.
class StartedCall {
 public:
  StartedCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
              std::string_view request)
      : parts_(std::make_unique<Parts>(channel)) {
    auto promise = std::make_shared<std::promise<CallResult>>();
    result_ = promise->get_future();
    parts_->context.set_deadline(std::chrono::system_clock::now() + kPatience);
    parts_->request = ToBuffer(request);
    parts_->stub.UnaryCall(&parts_->context, method, grpc::StubOptions(), &parts_->request,
                           &parts_->response,
                           [promise, response = &parts_->response](grpc::Status status) {
                             std::string bytes = status.ok() ? ToString(*response) : "";
                             promise->set_value({std::move(status), std::move(bytes)});
                           });
  }
  StartedCall(const StartedCall&) = delete;
  StartedCall& operator=(const StartedCall&) = delete;
  ~StartedCall() {
    if (result_.valid()) result_.wait();
  }

  CallResult get() { return result_.get(); }

 private:
  struct Parts {
    explicit Parts(const std::shared_ptr<grpc::Channel>& channel) : stub(channel) {}
    grpc::GenericStub stub;
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
  };
  std::unique_ptr<Parts> parts_;
  std::future<CallResult> result_;
};

std::shared_ptr<grpc::Channel> Connect(std::uint16_t port,
                                       const std::shared_ptr<grpc::ChannelCredentials>&
                                           credentials = grpc::InsecureChannelCredentials(),
                                       grpc::ChannelArguments arguments = {}) {
  // Channels of one process share connections unless told not to.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("ipv4:127.0.0.1:" + std::to_string(port), credentials,
                                   arguments);
}

std::shared_ptr<grpc::ChannelCredentials> Trusting(const TestCertificate& certificate) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = certificate.certificate_pem();
  return grpc::SslCredentials(options);
}

class ServerTest : public ::testing::Test {
 protected:
  static ServerOptions Loopback() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  static ServerOptions WithTls(const TestCertificate& certificate) {
    ServerOptions options = Loopback();
    options.tls = {certificate.certificate_file(), certificate.key_file()};
    return options;
  }

  void StartServer(const ServerOptions& options) {
    server_.reset();
    service_ = std::make_unique<EchoService>();  // a generic service serves one server only
    auto server = Server::Start(options, {service_.get()}, &handler_);
    ASSERT_TRUE(server.ok()) << Message(server.status());
    server_ = *std::move(server);
  }

  Status StartFailure(const ServerOptions& options) {
    return Server::Start(options, {}, &handler_).status();
  }

  CallResult Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  std::string_view request) {
    return StartedCall(channel, method, request).get();
  }

  std::unique_ptr<EchoService> service_;
  EchoHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, GrpcAndHttpShareOnePortAndSeeTheirPeers) {
  StartServer(Loopback());
  const auto channel = Connect(server_->port());
  TestSocket http(server_->port());
  for (int round = 0; round < 3; ++round) {
    const CallResult call = Call(channel, "/test/Echo", "hello");
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_TRUE(call.response.starts_with("ipv4:127.0.0.1:")) << call.response;
    EXPECT_TRUE(call.response.ends_with(" hello")) << call.response;
    ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(ReceiveReply(http).body, http.LocalAddress() + " cleartext");
  }
  EXPECT_EQ(server_->stats().grpc, 1);
  EXPECT_EQ(server_->stats().http1, 1);
}

TEST_F(ServerTest, GrpcPeerIsTheClientsOwnAddress) {
  // A raw client knows its address; the smallest call is enough to see it echoed.
  StartServer(Loopback());
  TestSocket client(server_->port());
  // HEADERS without Huffman coding and without table references: stream 1, END_HEADERS.
  const auto literal = [](std::string_view name, std::string_view value) {
    std::string field(1, '\0');
    field.push_back(static_cast<char>(name.size()));
    field.append(name).push_back(static_cast<char>(value.size()));
    return field.append(value);
  };
  const std::string block = literal(":method", "POST") + literal(":scheme", "http") +
                            literal(":path", "/test/Echo") + literal(":authority", "h") +
                            literal("te", "trailers") + literal("content-type", "application/grpc");
  const std::string headers = std::string("\0\0", 2) + static_cast<char>(block.size()) +
                              std::string("\x01\x04\0\0\0\x01", 6) + block;
  const std::string data("\0\0\x05\0\x01\0\0\0\x01\0\0\0\0\0", 14);  // an empty message, the end
  ASSERT_TRUE(client.Send(std::string(kPreface) + kSettings + headers + data));
  std::string received;
  const std::string expected = "ipv4:" + client.LocalAddress() + " ";
  while (received.find(expected) == std::string::npos) {
    const std::string part = client.Receive();
    ASSERT_FALSE(part.empty()) << "closed without the peer's address";
    received += part;
  }
}

TEST_F(ServerTest, GrpcAndHttpShareOnePortWithTls) {
  const TestCertificate certificate;
  StartServer(WithTls(certificate));
  const CallResult call =
      Call(Connect(server_->port(), Trusting(certificate)), "/test/Echo", "secret");
  EXPECT_TRUE(call.status.ok()) << call.status.error_message();
  EXPECT_TRUE(call.response.ends_with(" secret"));

  for (const std::vector<std::string>& alpn :
       {std::vector<std::string>{}, {"http/1.1"}, {"h2", "http/1.1"}}) {
    TestSocket socket(server_->port());
    TestTlsClient http(&socket, alpn);
    ASSERT_TRUE(http.Handshake());
    EXPECT_EQ(http.Alpn(), alpn.empty() ? "" : "http/1.1");
    ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    EXPECT_EQ(ParseReply(http.ReceiveToEnd()).body, socket.LocalAddress() + " tls");
  }
  // Loopback serves plain text beside TLS.
  EXPECT_TRUE(Call(Connect(server_->port()), "/test/Echo", "").status.ok());
}

// Forwards one connection to `port`; the client's first bytes go singly, each
// after the listener has looked at the one before.
class CuttingProxy {
 public:
  CuttingProxy(Server* server, std::size_t cut_bytes)
      : server_(server),
        cut_bytes_(cut_bytes),
        listener_(*BindAndListen(*SocketAddress::Parse("127.0.0.1:0"))),
        thread_([this] { Run(); }) {}
  ~CuttingProxy() {
    stop_ = true;
    thread_.join();
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return BoundAddress(listener_.get())->Port(); }
  [[nodiscard]] std::size_t cut() const { return cut_; }

 private:
  void Run() {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20'000) != 1) return;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    TestSocket upstream(server_->port());
    char buffer[16384];
    while (!stop_) {
      pollfd fds[2] = {{client.get(), POLLIN, 0}, {upstream.fd(), POLLIN, 0}};
      ::poll(fds, 2, 10);
      if (fds[0].revents != 0) {
        const ssize_t count = ::recv(client.get(), buffer, sizeof buffer, 0);
        if (count <= 0) return;
        Forward(upstream, {buffer, static_cast<std::size_t>(count)});
      }
      if (fds[1].revents != 0) {
        const ssize_t count = ::recv(upstream.fd(), buffer, sizeof buffer, 0);
        if (count <= 0 ||
            ::send(client.get(), buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) != count) {
          return;
        }
      }
    }
  }

  void Forward(TestSocket& upstream, std::string_view bytes) {
    while (!bytes.empty() && cut_ < cut_bytes_) {
      const std::int64_t before = server_->stats().wakeups;
      upstream.Send(bytes.substr(0, 1));
      bytes.remove_prefix(1);
      ++cut_;
      WaitUntil([&] {
        const ListenerStats stats = server_->stats();
        return stats.wakeups > before || stats.pending == 0;
      });
    }
    upstream.Send(bytes);
  }

  Server* const server_;
  const std::size_t cut_bytes_;
  const UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> cut_{0};
  std::thread thread_;
};

TEST_F(ServerTest, GrpcWorksWhenTheClientHelloArrivesInSingleBytes) {
  const TestCertificate certificate;
  StartServer(WithTls(certificate));
  constexpr std::size_t kMoreThanAHello = 1000;
  CuttingProxy proxy(server_.get(), kMoreThanAHello);
  const auto channel = Connect(proxy.port(), Trusting(certificate));
  const CallResult call = Call(channel, "/test/Echo", "cut");
  EXPECT_TRUE(call.status.ok()) << call.status.error_message();
  EXPECT_GT(proxy.cut(), 100U);
}

TEST_F(ServerTest, GrpcWorksWhenThePrefaceArrivesInSingleBytes) {
  StartServer(Loopback());
  CuttingProxy proxy(server_.get(), kPreface.size() + kSettings.size());
  const CallResult call = Call(Connect(proxy.port()), "/test/Echo", "cut");
  EXPECT_TRUE(call.status.ok()) << call.status.error_message();
}

TEST_F(ServerTest, HttpsWorksWhenTheClientHelloArrivesInSingleBytes) {
  const TestCertificate certificate;
  StartServer(WithTls(certificate));
  TestSocket socket(server_->port());
  TestTlsClient http(&socket, {"h2", "http/1.1"}, [&socket](std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (!socket.Send(bytes.substr(i, 1))) return false;
    }
    return true;
  });
  ASSERT_TRUE(http.Handshake());
  ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(ParseReply(http.ReceiveToEnd()).status, 200);
}

TEST_F(ServerTest, TlsWithoutACertificateIsClosed) {
  StartServer(Loopback());
  TestSocket socket(server_->port());
  TestTlsClient client(&socket, {"h2"});
  EXPECT_FALSE(client.Handshake());
}

// Reads HTTP/2 frames until one of the given type; false when the peer closes.
bool ReceiveFrame(TestSocket& socket, std::uint8_t type, std::string& buffered) {
  while (true) {
    while (buffered.size() >= 9) {
      const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(buffered[i]); };
      const std::size_t length = static_cast<std::size_t>(byte(0)) << 16 |
                                 static_cast<std::size_t>(byte(1)) << 8 | byte(2);
      if (buffered.size() < 9 + length) break;
      const std::uint8_t seen = byte(3);
      buffered.erase(0, 9 + length);
      if (seen == type) return true;
      if (seen == kFrameGoAway) return false;
    }
    const std::string part = socket.Receive();
    if (part.empty()) return false;
    buffered += part;
  }
}

TEST_F(ServerTest, HalfOpenGrpcConnectionIsFoundByKeepalive) {
  ServerOptions options = Loopback();
  options.grpc.keepalive_time = kSoon;
  options.grpc.keepalive_timeout = kSoon;
  StartServer(options);
  TestSocket vanished(server_->port());  // says its hello and then never a word
  ASSERT_TRUE(vanished.Send(std::string(kPreface) + kSettings + kSettingsAck));
  std::string buffered;
  ASSERT_TRUE(ReceiveFrame(vanished, kFrameSettings, buffered));
  EXPECT_EQ(server_->stats().grpc, 1);
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(ServerTest, GrpcHandshakeThatStopsIsClosedAtItsDeadline) {
  ServerOptions options = Loopback();
  options.grpc.handshake_deadline = kSoon;
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send(kPreface));
  EXPECT_TRUE(client.IsClosedByPeer());
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(ServerTest, TlsHandshakeThatStopsIsClosedAtItsDeadlineForBothProtocols) {
  const TestCertificate certificate;
  ServerOptions options = WithTls(certificate);
  options.grpc.handshake_deadline = kSoon;
  options.http.header_deadline = kSoon;
  StartServer(options);
  for (const char* alpn : {"h2", "http/1.1"}) {
    TestSocket socket(server_->port());
    ASSERT_TRUE(socket.Send(TestTlsClient(&socket, {alpn}).ClientHello()));
    EXPECT_TRUE(socket.IsClosedByPeer()) << alpn;
  }
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(ServerTest, IdleClientMayPing) {
  constexpr int kPings = 10;  // gRPC's default hangs up at the third
  ServerOptions options = Loopback();
  options.grpc.client_ping_interval_min = absl::ZeroDuration();
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send(std::string(kPreface) + kSettings + kSettingsAck));
  std::string buffered;
  for (int i = 0; i < kPings; ++i) {
    ASSERT_TRUE(client.Send(kPing));
    ASSERT_TRUE(ReceiveFrame(client, kFramePing, buffered)) << "ping " << i;
  }
}

TEST_F(ServerTest, AbandonedGrpcConnectionGivesItsPlaceBack) {
  StartServer(Loopback());
  auto channel = Connect(server_->port());
  EXPECT_TRUE(Call(channel, "/test/Echo", "").status.ok());
  EXPECT_EQ(server_->stats().open, 1);
  channel.reset();
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
  TestSocket crashed(server_->port());
  ASSERT_TRUE(crashed.Send(std::string(kPreface) + kSettings));
  ASSERT_TRUE(WaitUntil([this] { return server_->stats().grpc == 2; }));
  crashed.Reset();
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(ServerTest, MessageAtTheLimitPassesAndOnePastIsRefused) {
  ServerOptions options = Loopback();
  StartServer(options);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto channel = Connect(server_->port(), grpc::InsecureChannelCredentials(), arguments);
  const std::string at_limit(static_cast<std::size_t>(options.grpc.receive_bytes_max), 'm');
  EXPECT_TRUE(Call(channel, "/test/Echo", at_limit).status.ok());
  EXPECT_EQ(Call(channel, "/test/Echo", at_limit + "m").status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// grpc.health.v1: an empty request asks for the whole server; field 1 of the
// response is the status, 1 SERVING, 2 NOT_SERVING.
TEST_F(ServerTest, HealthFollowsSetServing) {
  StartServer(Loopback());
  const auto channel = Connect(server_->port());
  EXPECT_EQ(Call(channel, "/grpc.health.v1.Health/Check", "").response, "\x08\x02");
  server_->SetServing(true);
  EXPECT_EQ(Call(channel, "/grpc.health.v1.Health/Check", "").response, "\x08\x01");
}

// grpc.reflection.v1alpha: field 7 of the request asks for the list of services.
TEST_F(ServerTest, ReflectionListsItself) {
  StartServer(Loopback());
  const CallResult call = Call(Connect(server_->port()),
                               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                               std::string("\x3a\0", 2));
  EXPECT_TRUE(call.status.ok()) << call.status.error_message();
  EXPECT_NE(call.response.find("grpc.reflection.v1alpha.ServerReflection"), std::string::npos);
}

TEST_F(ServerTest, OpenCallAndRequestFinishWithinTheDrain) {
  ServerOptions options = Loopback();
  options.drain_deadline = absl::Hours(1);
  StartServer(options);
  const auto channel = Connect(server_->port());
  StartedCall call(channel, "/test/Hold", "last");
  TestSocket http(server_->port());
  ASSERT_TRUE(http.Send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
  TestSocket idle(server_->port());
  ASSERT_TRUE(idle.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ReceiveReply(idle).status, 200);
  ASSERT_TRUE(service_->WaitForHeld());
  ASSERT_TRUE(handler_.WaitForHeld());

  std::atomic<bool> is_stopped{false};
  std::thread stopping([&] {
    server_->Stop();
    is_stopped = true;
  });
  EXPECT_TRUE(idle.IsClosedByPeer());
  EXPECT_TRUE(WaitUntil([&] { return !TestSocket(server_->port()).is_connected(); }));
  EXPECT_FALSE(is_stopped);
  service_->Release();
  handler_.Release();
  const CallResult result = call.get();
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.response.ends_with(" last"));
  const HttpReply reply = ParseReply(http.ReceiveToEnd());
  EXPECT_EQ(reply.body, "released");
  EXPECT_NE(reply.header.find("Connection: close"), std::string::npos);
  stopping.join();
  EXPECT_EQ(service_->cancelled(), 0);
}

TEST_F(ServerTest, DrainDeadlineCancelsCallsAndAnswersRequestsWith503) {
  ServerOptions options = Loopback();
  options.drain_deadline = kSoon;
  StartServer(options);
  const auto channel = Connect(server_->port());
  StartedCall call(channel, "/test/Hold", "never");
  TestSocket http(server_->port());
  ASSERT_TRUE(http.Send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(service_->WaitForHeld());
  ASSERT_TRUE(handler_.WaitForHeld());
  server_->Stop();
  EXPECT_FALSE(call.get().status.ok());
  EXPECT_EQ(service_->cancelled(), 1);
  EXPECT_EQ(ParseReply(http.ReceiveToEnd()).status, 503);
  handler_.Release();  // after the end: dropped
}

TEST_F(ServerTest, IdleGrpcConnectionDoesNotDelayAStop) {
  ServerOptions options = Loopback();
  options.drain_deadline = absl::Hours(1);
  StartServer(options);
  const auto channel = Connect(server_->port());
  EXPECT_TRUE(Call(channel, "/test/Echo", "").status.ok());
  server_->Stop();
  EXPECT_FALSE(Call(channel, "/test/Echo", "").status.ok());
}

TEST_F(ServerTest, PortIsUsableAtOnceAfterAStop) {
  StartServer(Loopback());
  const std::string address = server_->addresses().front();
  const auto channel = Connect(server_->port());
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(Call(channel, "/test/Echo", "").status.ok());
    TestSocket http(server_->port());
    ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(ReceiveReply(http).status, 200);
    server_->Stop();  // the server closes first, so its side waits in the kernel
    server_.reset();
    ServerOptions options;
    options.listen = {address};
    StartServer(options);
    channel->GetState(true);
    ASSERT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + kPatience));
  }
}

TEST_F(ServerTest, ServesSeveralAddressesAndIpv6) {
  ServerOptions options = Loopback();
  options.listen = {"127.0.0.1:0", "[::1]:0"};
  if (!BindAndListen(*SocketAddress::Parse("[::1]:0")).ok()) {
    GTEST_SKIP() << "this machine has no IPv6 loopback";
  }
  StartServer(options);
  ASSERT_EQ(server_->addresses().size(), 2U);
  const std::uint16_t v6_port = SocketAddress::Parse(server_->addresses()[1])->Port();
  TestSocket v6(v6_port, TestSocket::Family::kIpv6);
  ASSERT_TRUE(v6.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ReceiveReply(v6).body, v6.LocalAddress() + " cleartext");
  TestSocket v4(server_->port());
  ASSERT_TRUE(v4.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ReceiveReply(v4).status, 200);
}

TEST_F(ServerTest, RemotePlainTextIsRefusedUnlessAllowed) {
  ServerOptions options;
  options.listen = {"0.0.0.0:0"};
  const Status refused = StartFailure(options);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("0.0.0.0:0"), std::string_view::npos);
  options.is_remote_plaintext_allowed = true;
  StartServer(options);
  EXPECT_TRUE(Call(Connect(server_->port()), "/test/Echo", "").status.ok());
}

TEST_F(ServerTest, RemoteAddressWithTlsServesNoPlainText) {
  const TestCertificate certificate;
  ServerOptions options = WithTls(certificate);
  options.listen = {"0.0.0.0:0"};
  StartServer(options);
  EXPECT_TRUE(Call(Connect(server_->port(), Trusting(certificate)), "/test/Echo", "").status.ok());
  TestSocket http(server_->port());
  ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ParseReply(http.ReceiveToEnd()).status, 400);
  EXPECT_EQ(server_->stats().http1, 0);
}

TEST_F(ServerTest, StartFailuresNameTheirCause) {
  StartServer(Loopback());
  ServerOptions options;
  options.listen = server_->addresses();
  const Status in_use = StartFailure(options);
  EXPECT_EQ(in_use.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(Message(in_use).find(server_->addresses().front()), std::string_view::npos);

  options.listen = {};
  EXPECT_EQ(StartFailure(options).code(), absl::StatusCode::kInvalidArgument);

  const TestCertificate certificate;
  const TestCertificate other;
  options = WithTls(certificate);
  options.tls->key_file = other.key_file();
  EXPECT_EQ(StartFailure(options).code(), absl::StatusCode::kInvalidArgument);
  options.tls->key_file = certificate.folder() + "/absent.pem";
  EXPECT_NE(Message(StartFailure(options)).find("absent.pem"), std::string_view::npos);
  options.tls->key_file = certificate.certificate_file();
  EXPECT_NE(Message(StartFailure(options)).find("key file"), std::string_view::npos);
}

}  // namespace
}  // namespace sluice::front::net
