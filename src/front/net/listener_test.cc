// SPDX-License-Identifier: Apache-2.0
#include "front/net/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "front/net/connection_peek.h"
#include "front/net/test_client.h"

// Proves what the listener does with connections before any protocol is spoken,
// with a sink that only collects them. "The listener has looked at it" is
// observed through its counter of wakeups, so no test waits for time to pass.

namespace sluice::front::net {
namespace {

using testing::TestSocket;
using testing::TestTlsClient;
using testing::WaitUntil;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// Long enough never to fire, and short enough to be waited for.
constexpr Duration kNever = absl::Hours(1);
constexpr Duration kSoon = absl::Milliseconds(50);

class CollectingSink final : public ConnectionSink {
 public:
  void Take(AcceptedConnection connection) override {
    const std::lock_guard lock(mutex_);
    connections_.push_back(std::move(connection));
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }
  // Waits for the next connection.
  std::optional<AcceptedConnection> Next() {
    if (!WaitUntil([this] { return count() > 0; })) return std::nullopt;
    const std::lock_guard lock(mutex_);
    AcceptedConnection first = std::move(connections_.front());
    connections_.erase(connections_.begin());
    return first;
  }

 private:
  std::mutex mutex_;
  std::vector<AcceptedConnection> connections_;
};

class ListenerTest : public ::testing::Test {
 protected:
  void StartListener(const ListenerOptions& options, bool is_cleartext_allowed = true) {
    auto fd = BindAndListen(*SocketAddress::Parse("127.0.0.1:0"));
    ASSERT_TRUE(fd.ok()) << Message(fd.status());
    port_ = BoundAddress(fd->get())->Port();
    std::vector<ListenSocket> sockets;
    sockets.push_back({*std::move(fd), is_cleartext_allowed, true});
    auto listener = Listener::Start(std::move(sockets), options, &sink_);
    ASSERT_TRUE(listener.ok()) << Message(listener.status());
    listener_ = *std::move(listener);
  }

  static ListenerOptions Patient() {
    ListenerOptions options;
    options.pending_deadline = kNever;
    return options;
  }

  // Sends byte by byte, each after the listener has looked at the one before,
  // until all are sent or the decision has fallen.
  void SendInPieces(TestSocket& socket, std::string_view bytes) {
    ASSERT_TRUE(WaitUntil([this] { return listener_->stats().pending == 1; }));
    for (std::size_t i = 0; i < bytes.size() && listener_->stats().pending == 1; ++i) {
      const std::int64_t before = listener_->stats().wakeups;
      ASSERT_TRUE(socket.Send(bytes.substr(i, 1)));
      ASSERT_TRUE(WaitUntil([&] { return listener_->stats().wakeups > before; })) << "byte " << i;
    }
  }

  CollectingSink sink_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, PeekedBytesStayForTheServerAndThePeerIsKept) {
  StartListener(Patient());
  TestSocket client(port_);
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\n"));
  const auto taken = sink_.Next();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->protocol, Protocol::kHttp1);
  EXPECT_FALSE(taken->is_tls);
  EXPECT_EQ(taken->peer.ToString(), client.LocalAddress());
  char bytes[64];
  EXPECT_EQ(::recv(taken->fd.get(), bytes, sizeof bytes, 0), 16);
}

TEST_F(ListenerTest, PrefaceInSingleBytesReachesGrpc) {
  StartListener(Patient());
  TestSocket client(port_);
  SendInPieces(client, kPreface.substr(0, kPreface.size() - 1));
  EXPECT_EQ(sink_.count(), 0U);
  ASSERT_TRUE(client.Send(kPreface.substr(kPreface.size() - 1)));
  EXPECT_EQ(sink_.Next()->protocol, Protocol::kGrpc);
}

TEST_F(ListenerTest, ClientHelloInSingleBytesReachesItsServer) {
  StartListener(Patient());
  TestSocket client(port_);
  TestTlsClient tls(&client, {"h2"});
  SendInPieces(client, tls.ClientHello());
  const auto taken = sink_.Next();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->protocol, Protocol::kGrpc);
  EXPECT_TRUE(taken->is_tls);
}

TEST_F(ListenerTest, SilentConnectionIsClosedAtThePendingDeadline) {
  ListenerOptions options;
  options.pending_deadline = kSoon;
  StartListener(options);
  TestSocket silent(port_);
  TestSocket stuck(port_);
  ASSERT_TRUE(stuck.Send("PRI * HT"));
  EXPECT_TRUE(silent.IsClosedByPeer());
  EXPECT_TRUE(stuck.IsClosedByPeer());
  EXPECT_EQ(listener_->stats().pending_expired, 2);
  EXPECT_EQ(listener_->stats().open, 0);
}

TEST_F(ListenerTest, OldestPendingConnectionMakesRoom) {
  ListenerOptions options = Patient();
  options.pending_max = 2;
  StartListener(options);
  TestSocket first(port_);
  ASSERT_TRUE(WaitUntil([&] { return listener_->stats().pending == 1; }));
  TestSocket second(port_);
  TestSocket third(port_);
  EXPECT_TRUE(first.IsClosedByPeer());
  EXPECT_TRUE(WaitUntil([&] { return listener_->stats().pending == 2; }));
  EXPECT_EQ(listener_->stats().pending_evicted, 1);
  ASSERT_TRUE(second.Send("GET / "));
  ASSERT_TRUE(third.Send("GET / "));
  EXPECT_TRUE(sink_.Next());
  EXPECT_TRUE(sink_.Next());
}

TEST_F(ListenerTest, AbandonedConnectionsAreReapedBeforeTheDeadline) {
  StartListener(Patient());
  TestSocket half_closed(port_);
  ASSERT_TRUE(half_closed.Send("GE"));
  half_closed.FinishSending();
  EXPECT_TRUE(half_closed.IsClosedByPeer());
  TestSocket silent(port_);
  silent.FinishSending();
  EXPECT_TRUE(silent.IsClosedByPeer());
  TestSocket crashed(port_);
  ASSERT_TRUE(WaitUntil([&] { return listener_->stats().pending == 1; }));
  crashed.Reset();
  EXPECT_TRUE(WaitUntil([&] { return listener_->stats().open == 0; }));
  EXPECT_EQ(listener_->stats().pending_hung_up, 3);
}

TEST_F(ListenerTest, RequestFromAClientThatOnlyStoppedSendingIsServed) {
  StartListener(Patient());
  TestSocket client(port_);
  ASSERT_TRUE(client.Send("GET / HTTP/1.0\r\n\r\n"));
  client.FinishSending();
  EXPECT_TRUE(sink_.Next());
}

TEST_F(ListenerTest, GarbageIsClosed) {
  StartListener(Patient());
  TestSocket client(port_);
  ASSERT_TRUE(client.Send("\x01\x02\x03"));
  EXPECT_TRUE(client.IsClosedByPeer());
  EXPECT_EQ(listener_->stats().refused, 1);
}

TEST_F(ListenerTest, PlainTextWhereOnlyTlsIsAllowedGetsAnExplanation) {
  StartListener(Patient(), /*is_cleartext_allowed=*/false);
  TestSocket http(port_);
  ASSERT_TRUE(http.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const testing::HttpReply reply = testing::ParseReply(http.ReceiveToEnd());
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.header.find("Content-Length: " + std::to_string(reply.body.size()) + "\r\n"),
            std::string::npos);
  TestSocket grpc(port_);
  ASSERT_TRUE(grpc.Send(kPreface));
  EXPECT_TRUE(grpc.IsClosedByPeer());
  EXPECT_EQ(sink_.count(), 0U);
}

TEST_F(ListenerTest, FullListenerLeavesNewConnectionsWaitingUntilAPlaceIsFree) {
  ListenerOptions options = Patient();
  options.connections_max = 2;
  StartListener(options);
  TestSocket first(port_);
  TestSocket second(port_);
  ASSERT_TRUE(first.Send("GET / "));
  ASSERT_TRUE(second.Send("GET / "));
  auto held = sink_.Next();
  auto also_held = sink_.Next();
  ASSERT_TRUE(held && also_held);

  TestSocket third(port_);
  ASSERT_TRUE(third.Send("GET / "));
  EXPECT_FALSE(third.IsReadable(std::chrono::milliseconds(20)));  // neither served nor closed
  EXPECT_EQ(listener_->stats().accepted, 2);
  held.reset();
  EXPECT_TRUE(sink_.Next());
}

TEST_F(ListenerTest, GrpcConnectionGivesItsPlaceBackWhenGrpcClosesIt) {
  ListenerOptions options = Patient();
  options.connections_max = 1;
  StartListener(options);
  TestSocket client(port_);
  ASSERT_TRUE(client.Send(kPreface));
  auto taken = sink_.Next();
  ASSERT_TRUE(taken);
  EXPECT_EQ(listener_->stats().open, 1);
  ::shutdown(taken->fd.get(), SHUT_RDWR);  // as gRPC does before it closes
  taken.reset();
  EXPECT_TRUE(client.IsClosedByPeer());
  EXPECT_TRUE(WaitUntil([&] { return listener_->stats().open == 0; }));
  TestSocket next(port_);
  ASSERT_TRUE(next.Send(kPreface));
  EXPECT_TRUE(sink_.Next());
}

TEST_F(ListenerTest, OutOfDescriptorsClosesNewConnectionsWithoutSpinning) {
  StartListener(Patient());
  constexpr int kClients = 5;
  std::vector<TestSocket> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(TestSocket::Unconnected());
  // No descriptor number above the lowest free one can be had from here on.
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  rlimit exhausted = saved;
  exhausted.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &exhausted), 0);

  const std::int64_t wakeups_before = listener_->stats().wakeups;
  for (TestSocket& client : clients) client.Connect(port_);
  for (TestSocket& client : clients) EXPECT_TRUE(client.IsClosedByPeer());
  const ListenerStats stats = listener_->stats();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);

  EXPECT_EQ(stats.accepted, 0);
  EXPECT_EQ(stats.out_of_descriptors, kClients);
  // At most one round for each client, and a few for the pauses in between.
  EXPECT_LE(stats.wakeups - wakeups_before, 4 * kClients);
  TestSocket after(port_);
  ASSERT_TRUE(after.Send("GET / "));
  EXPECT_TRUE(sink_.Next());
}

TEST_F(ListenerTest, StopClosesPendingConnectionsAndThePort) {
  StartListener(Patient());
  TestSocket pending(port_);
  ASSERT_TRUE(WaitUntil([&] { return listener_->stats().pending == 1; }));
  listener_->Stop();
  EXPECT_TRUE(pending.IsClosedByPeer());
  EXPECT_FALSE(TestSocket(port_).is_connected());
  listener_->Stop();  // again is harmless
}

TEST_F(ListenerTest, PartialBytesDoNotSpinTheThread) {
  StartListener(Patient());
  TestSocket client(port_);
  ASSERT_TRUE(client.Send("GE"));
  TestSocket other(port_);
  ASSERT_TRUE(other.Send("GET / "));
  ASSERT_TRUE(sink_.Next());
  const std::int64_t before = listener_->stats().wakeups;
  EXPECT_FALSE(client.IsReadable(std::chrono::milliseconds(50)));
  EXPECT_LE(listener_->stats().wakeups, before + 1);
}

}  // namespace
}  // namespace sluice::front::net
