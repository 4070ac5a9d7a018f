// SPDX-License-Identifier: Apache-2.0
#include "front/net/http_server.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "front/net/server.h"
#include "front/net/test_client.h"

// Proves the HTTP/1.1 side over real sockets: what the handler sees, when it may
// answer, which limits hold, and that no client can keep a connection for longer
// than the deadlines of its phases.

namespace sluice::front::net {
namespace {

using testing::HttpReply;
using testing::kPatience;
using testing::ParseReply;
using testing::ReceiveReply;
using testing::TestSocket;
using testing::WaitUntil;

constexpr Duration kSoon = absl::Milliseconds(100);
constexpr auto kDripInterval = std::chrono::milliseconds(5);

// Answers by a function of the test, or keeps the request for it.
class TestHandler final : public HttpHandler {
 public:
  using Function = std::function<void(HttpRequest, HttpResponder)>;

  struct Held {
    HttpRequest request;
    HttpResponder responder;
  };

  void set_function(Function function) { function_ = std::move(function); }

  void Handle(HttpRequest request, HttpResponder responder) override {
    if (function_) return function_(std::move(request), std::move(responder));
    const std::lock_guard lock(mutex_);
    held_.push_back({std::move(request), std::move(responder)});
    arrived_.notify_all();
  }

  // Waits for a request that is kept.
  std::optional<Held> Next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, kPatience, [this] { return !held_.empty(); })) return std::nullopt;
    Held first = {std::move(held_.front().request), std::move(held_.front().responder)};
    held_.clear();
    return first;
  }

 private:
  Function function_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Held> held_;
};

HttpResponse Text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void StartServer(const HttpOptions& http = {}) {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.http = http;
    auto server = Server::Start(options, {}, &handler_);
    ASSERT_TRUE(server.ok()) << Message(server.status());
    server_ = *std::move(server);
  }

  // Answers with the body's size and the first ten bytes.
  void AnswerBodies() {
    handler_.set_function([](HttpRequest request, HttpResponder responder) {
      responder.Send(Text(std::to_string(request.body.size()) + " " + request.body.substr(0, 10)));
    });
  }

  HttpReply Ask(std::string_view request) {
    TestSocket client(server_->port());
    EXPECT_TRUE(client.Send(request));
    return ReceiveReply(client);
  }

  // A client that sends one byte at a time for as long as the server lets it.
  bool IsClosedWhileDripping(TestSocket& client) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      if (client.IsReadable(kDripInterval)) return client.IsClosedByPeer();
      if (!client.Send("a")) return true;
    }
    return false;
  }

  TestHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, RequestArrivesWholeAndUnchanged) {
  StartServer();
  TestSocket client(server_->port());
  ASSERT_TRUE(
      client.Send("PATCH /v2/a%2Fb/c:run?x=%20y&z HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nx-two: 2\r\n"
                  "Content-Length: 4\r\n\r\nb"));
  ASSERT_TRUE(client.Send(std::string_view("\0dy", 3)));
  auto held = handler_.Next();
  ASSERT_TRUE(held);
  EXPECT_EQ(held->request.method, "PATCH");
  EXPECT_EQ(held->request.path, "/v2/a%2Fb/c:run");
  EXPECT_EQ(held->request.query, "x=%20y&z");
  EXPECT_EQ(held->request.body, std::string("b\0dy", 4));
  EXPECT_EQ(held->request.peer, client.LocalAddress());
  ASSERT_NE(held->request.FindHeader("X-TWO"), nullptr);
  EXPECT_EQ(*held->request.FindHeader("X-TWO"), "1");
  EXPECT_EQ(held->request.FindHeader("X-Three"), nullptr);

  HttpResponse answer = Text("done");
  answer.status = 404;
  answer.headers = {{"X-Reason", "none"}};
  held->responder.Send(std::move(answer));
  const HttpReply reply = ReceiveReply(client);
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, "done");
  EXPECT_NE(reply.header.find("X-Reason: none\r\n"), std::string::npos);
  EXPECT_NE(reply.header.find("Content-Type: text/plain\r\n"), std::string::npos);
}

TEST_F(HttpServerTest, ChunkedBodyArrivesWhole) {
  StartServer();
  AnswerBodies();
  EXPECT_EQ(Ask("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
                .body,
            "7 abcdefg");
}

TEST_F(HttpServerTest, ConnectionServesManyRequestsInOrder) {
  StartServer();
  AnswerBodies();
  TestSocket client(server_->port());
  for (const char* body : {"1 x", "1 y"}) {
    const std::string request =
        std::string("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n") + body[2];
    ASSERT_TRUE(client.Send(request));
    EXPECT_EQ(ReceiveReply(client).body, body);
  }
  // Pipelined: the second request is in the socket before the first is answered.
  ASSERT_TRUE(
      client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
                  "GET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  const std::string replies = client.ReceiveToEnd();
  const std::size_t first = replies.find("HTTP/1.1 200");
  EXPECT_NE(replies.find("HTTP/1.1 200", first + 1), std::string::npos);
}

TEST_F(HttpServerTest, AnswersComeFromAnyThreadWhileOthersAreServed) {
  StartServer();
  TestSocket slow(server_->port());
  ASSERT_TRUE(slow.Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  auto held = handler_.Next();
  ASSERT_TRUE(held);
  TestSocket fast(server_->port());
  ASSERT_TRUE(fast.Send("GET /fast HTTP/1.1\r\nHost: h\r\n\r\n"));
  auto second = handler_.Next();
  ASSERT_TRUE(second);
  std::thread([&second] { second->responder.Send(Text("fast")); }).join();
  EXPECT_EQ(ReceiveReply(fast).body, "fast");
  std::thread([&held] { held->responder.Send(Text("slow")); }).join();
  EXPECT_EQ(ReceiveReply(slow).body, "slow");
}

TEST_F(HttpServerTest, RequestDroppedByItsHandlerGets500) {
  StartServer();
  handler_.set_function([](HttpRequest, HttpResponder) {});
  EXPECT_EQ(Ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 500);
}

TEST_F(HttpServerTest, HeadGetsNoBodyAndRequestWithoutHostIsRefused) {
  StartServer();
  AnswerBodies();
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  const HttpReply reply = ParseReply(client.ReceiveToEnd());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(Ask("GET / HTTP/1.1\r\n\r\n").status, 400);
}

TEST_F(HttpServerTest, BodyAtTheLimitPassesAndOnePastGets413) {
  HttpOptions options;
  options.body_bytes_max = 1000;
  StartServer(options);
  AnswerBodies();
  const auto post = [this](std::size_t bytes) {
    return Ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) +
               "\r\n\r\n" + std::string(bytes, 'b'));
  };
  EXPECT_EQ(post(1000).body, "1000 bbbbbbbbbb");
  const HttpReply refused = post(1001);
  EXPECT_EQ(refused.status, 413);
  EXPECT_NE(refused.body.find("1000"), std::string::npos);
  // So large that reading it to the end is not worth the answer's safety.
  EXPECT_EQ(Ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n").status, 413);
  EXPECT_EQ(
      Ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
          .status,
      413);
}

TEST_F(HttpServerTest, ChunkedBodyPastTheLimitGets413AndAnEndlessOneIsClosed) {
  HttpOptions options;
  options.body_bytes_max = 1000;
  StartServer(options);
  AnswerBodies();
  const std::string chunk = "3e8\r\n" + std::string(1000, 'c') + "\r\n";
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Ask(head + chunk + "0\r\n\r\n").status, 200);
  EXPECT_EQ(Ask(head + chunk + "1\r\nc\r\n0\r\n\r\n").status, 413);
  TestSocket endless(server_->port());
  ASSERT_TRUE(endless.Send(head));
  while (endless.Send(chunk)) {
  }
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, HeaderPastTheLimitGets431) {
  HttpOptions options;
  options.header_bytes_max = 4096;
  StartServer(options);
  AnswerBodies();
  const auto get = [this](std::size_t bytes) {
    return Ask("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(bytes, 'x') + "\r\n\r\n").status;
  };
  EXPECT_EQ(get(4000), 200);
  EXPECT_EQ(get(4096), 431);
  EXPECT_EQ(get(std::size_t{100} * 1024), 431);  // past the library's own bound
}

// Each hides a second request behind an end that two readers may see in two places.
TEST_F(HttpServerTest, RequestWithTwoMeaningsIsRefusedAndItsConnectionEnds) {
  StartServer();
  int handled = 0;
  handler_.set_function([&handled](const HttpRequest&, HttpResponder responder) {
    ++handled;
    responder.Send(Text(""));
  });
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string chunked = "2\r\n{}\r\n0\r\n\r\n";
  const std::vector<std::string> headers = {
      "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
      "Content-Length : 2\r\n\r\n{}",
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked,
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunked,
      "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked,
      "Transfer-Encoding : chunked\r\n\r\n" + chunked,
      "Host: other\r\n\r\n",
  };
  for (const std::string& header : headers) {
    TestSocket client(server_->port());
    ASSERT_TRUE(client.Send("POST / HTTP/1.1\r\nHost: h\r\n" + header + hidden));
    const HttpReply reply = ReceiveReply(client);
    EXPECT_TRUE(reply.status == 400 || reply.status == 501) << header << reply.status;
    EXPECT_NE(reply.header.find("Connection: close"), std::string::npos) << header;
    EXPECT_TRUE(client.IsClosedByPeer()) << header;
  }
  EXPECT_EQ(handled, 0);
}

TEST_F(HttpServerTest, ThousandsOfArgumentsArriveAsTheyWereSent) {
  StartServer();
  handler_.set_function([](const HttpRequest& request, HttpResponder responder) {
    responder.Send(Text(request.path + " " + std::to_string(request.query.size())));
  });
  std::string query;
  while (query.size() < 12'000) query += "a=1&";
  EXPECT_EQ(Ask("GET /p?" + query + " HTTP/1.1\r\nHost: h\r\n\r\n").body, "/p 12000");
}

TEST_F(HttpServerTest, WholeUrlInTheRequestLineMeansItsPath) {
  StartServer();
  handler_.set_function([](const HttpRequest& request, HttpResponder responder) {
    responder.Send(Text(request.path + " " + request.query));
  });
  EXPECT_EQ(Ask("GET http://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n").body, "/p q");
  EXPECT_EQ(Ask("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").body, "/ ");
}

TEST_F(HttpServerTest, ClientThatDripsItsHeaderIsClosed) {
  HttpOptions options;
  options.header_deadline = kSoon;
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\nX-Slow: "));
  EXPECT_TRUE(IsClosedWhileDripping(client));
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, ClientThatDripsItsRequestLineIsClosed) {
  HttpOptions options;
  options.header_deadline = kSoon;
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET /"));
  EXPECT_TRUE(IsClosedWhileDripping(client));
}

TEST_F(HttpServerTest, ClientThatDripsItsBodyIsClosed) {
  HttpOptions options;
  options.body_deadline = kSoon;
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n"));
  EXPECT_TRUE(IsClosedWhileDripping(client));
}

TEST_F(HttpServerTest, IdleConnectionIsClosedAfterItsAnswer) {
  HttpOptions options;
  options.idle_deadline = kSoon;
  StartServer(options);
  AnswerBodies();
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ReceiveReply(client).status, 200);
  EXPECT_TRUE(client.IsClosedByPeer());
}

TEST_F(HttpServerTest, ClientThatDoesNotReadItsAnswerIsClosed) {
  constexpr std::size_t kMoreThanTheKernelBuffers = std::size_t{64} * 1024 * 1024;
  HttpOptions options;
  options.answer_deadline = kSoon;
  StartServer(options);
  handler_.set_function([](HttpRequest, HttpResponder responder) {
    responder.Send(Text(std::string(kMoreThanTheKernelBuffers, 'a')));
  });
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(WaitUntil([this] { return server_->stats().http1 == 1; }));
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, SlowHandlerIsNotHurriedByTheClientsDeadlines) {
  HttpOptions options;
  options.header_deadline = options.body_deadline = options.idle_deadline = kSoon;
  StartServer(options);
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  auto held = handler_.Next();
  ASSERT_TRUE(held);
  // Twice every deadline: were one of them running, the connection would close.
  EXPECT_FALSE(client.IsReadable(std::chrono::milliseconds(2 * absl::ToInt64Milliseconds(kSoon))));
  held->responder.Send(Text("late"));
  EXPECT_EQ(ReceiveReply(client).body, "late");
}

TEST_F(HttpServerTest, AnswerToAClientThatLeftGivesThePlaceBack) {
  StartServer();
  TestSocket client(server_->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  auto held = handler_.Next();
  ASSERT_TRUE(held);
  client.Reset();
  held->responder.Send(Text("to nobody"));
  EXPECT_TRUE(WaitUntil([this] { return server_->stats().open == 0; }));
}

TEST_F(HttpServerTest, ResponderMayOutliveTheServer) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.drain_deadline = absl::ZeroDuration();
  auto server = Server::Start(options, {}, &handler_);
  ASSERT_TRUE(server.ok()) << Message(server.status());
  TestSocket client((*server)->port());
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  auto held = handler_.Next();
  ASSERT_TRUE(held);
  server->reset();
  EXPECT_EQ(ParseReply(client.ReceiveToEnd()).status, 503);
  held->responder.Send(Text("too late"));
}

}  // namespace
}  // namespace sluice::front::net
