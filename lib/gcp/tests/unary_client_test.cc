// SPDX-License-Identifier: Apache-2.0
//
// The client against a service in this process, which can hold its answers back.

#include "sluice/gcp/unary_client.h"

#include <google/cloud/tasks/v2/cloudtasks.grpc.pb.h>
#include <google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <set>

#include "sluice/gcp/queue_reader.h"

namespace sluice::gcp {
namespace {

namespace v2 = google::cloud::tasks::v2;
namespace v2beta3 = google::cloud::tasks::v2beta3;
constexpr const char* kQueue = "projects/p/locations/l/queues/q";

class Service : public v2::CloudTasks::CallbackService {
 public:
  grpc::ServerUnaryReactor* CreateTask(grpc::CallbackServerContext* context,
                                       const v2::CreateTaskRequest* request,
                                       v2::Task* /*response*/) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const std::lock_guard lock(mutex);
    requests.push_back(*request);
    ++peers[context->peer()];
    const auto routing = context->client_metadata().find("x-goog-request-params");
    if (routing != context->client_metadata().end()) {
      routed.insert(std::string(routing->second.data(), routing->second.size()));
    }
    if (is_holding) {
      held.push_back(reactor);
    } else {
      reactor->Finish(answer);
    }
    return reactor;
  }

  std::mutex mutex;
  std::vector<v2::CreateTaskRequest> requests;
  std::map<std::string, int> peers;
  std::set<std::string> routed;
  std::vector<grpc::ServerUnaryReactor*> held;
  bool is_holding = false;
  grpc::Status answer;
};

class Queues : public v2beta3::CloudTasks::Service {
 public:
  grpc::Status GetQueue(grpc::ServerContext* /*context*/, const v2beta3::GetQueueRequest* request,
                        v2beta3::Queue* response) override {
    if (request->name() != kQueue) return {grpc::StatusCode::NOT_FOUND, "no such queue"};
    response->mutable_tombstone_ttl()->set_seconds(600);
    return {};
  }
};

class UnaryClientTest : public testing::Test {
 protected:
  UnaryClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    builder.RegisterService(&queues_);
    server_ = builder.BuildAndStart();
  }
  ~UnaryClientTest() override {
    Release();
    server_->Shutdown();
  }

  std::shared_ptr<ChannelPool> Pool(int channels) {
    return *ChannelPool::Make({.target = "127.0.0.1:" + std::to_string(port_), .credentials = {}},
                              channels);
  }

  void Release() {
    const std::lock_guard lock(service_.mutex);
    for (grpc::ServerUnaryReactor* reactor : service_.held) reactor->Finish(grpc::Status::OK);
    service_.held.clear();
    service_.is_holding = false;
  }

  static std::string Request() {
    v2::CreateTaskRequest request;
    request.set_parent(kQueue);
    request.mutable_task()->mutable_http_request()->set_url("http://h/");
    return request.SerializeAsString();
  }

  Service service_;
  Queues queues_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct Waiting {
  std::promise<Status> promise;
  std::future<Status> status = promise.get_future();
  UnaryClient::Done Done() {
    return [this](Status s) { promise.set_value(std::move(s)); };
  }
};

TEST_F(UnaryClientTest, ATaskArrivesAsItWasGiven) {
  UnaryClient client(Pool(1));
  Waiting call;
  client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, call.Done());
  EXPECT_TRUE(call.status.get().ok());
  ASSERT_EQ(service_.requests.size(), 1);
  EXPECT_EQ(service_.requests[0].parent(), kQueue);
  EXPECT_EQ(service_.requests[0].task().http_request().url(), "http://h/");
  EXPECT_EQ(service_.routed,
            std::set<std::string>{"parent=projects%2Fp%2Flocations%2Fl%2Fqueues%2Fq"});
}

TEST_F(UnaryClientTest, AFailureIsPassedOnWithoutATryOfOurOwn) {
  service_.answer = grpc::Status(grpc::StatusCode::UNAVAILABLE, "try later");
  UnaryClient client(Pool(1));
  Waiting call;
  client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, call.Done());
  const Status status = call.status.get();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(Message(status), "try later");
  EXPECT_EQ(service_.requests.size(), 1);
}

TEST_F(UnaryClientTest, ACallEndsAtItsDeadline) {
  service_.is_holding = true;
  UnaryClient client(Pool(1));
  Waiting call;
  client.Send(kCreateTask, kQueue, Request(), absl::Milliseconds(50), call.Done());
  EXPECT_TRUE(absl::IsDeadlineExceeded(call.status.get()));
}

TEST_F(UnaryClientTest, ACancelledCallEndsOnce) {
  service_.is_holding = true;
  UnaryClient client(Pool(1));
  Waiting call;
  const auto pending =
      client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, call.Done());
  pending->Cancel();
  EXPECT_TRUE(absl::IsCancelled(call.status.get()));
}

TEST_F(UnaryClientTest, CloseIsBoundedAndSaysWhatItCut) {
  service_.is_holding = true;
  UnaryClient client(Pool(1));
  Waiting call;
  client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, call.Done());
  EXPECT_EQ(client.Close(absl::Milliseconds(20)), 1);
  EXPECT_TRUE(absl::IsCancelled(call.status.get()));
  Waiting late;
  client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, late.Done());
  EXPECT_TRUE(absl::IsUnavailable(late.status.get()));
}

TEST_F(UnaryClientTest, EachChannelHasAConnectionAndCallsSpreadEvenly) {
  service_.is_holding = true;
  UnaryClient client(Pool(4));
  std::vector<Waiting> calls(40);
  for (Waiting& call : calls) {
    client.Send(kCreateTask, kQueue, Request(), kCreateTimeoutDefault, call.Done());
  }
  for (;;) {  // until all have arrived; the test's own time limit ends it otherwise
    const std::lock_guard lock(service_.mutex);
    if (service_.held.size() == calls.size()) break;
  }
  Release();
  for (Waiting& call : calls) EXPECT_TRUE(call.status.get().ok());
  ASSERT_EQ(service_.peers.size(), 4);
  for (const auto& [peer, count] : service_.peers) EXPECT_EQ(count, 10) << peer;
}

TEST_F(UnaryClientTest, ThePoolPrefersTheChannelWithFewestCalls) {
  const auto pool = Pool(2);
  const std::size_t busy = pool->Acquire();
  const std::size_t other = pool->Acquire();
  EXPECT_NE(busy, other);
  pool->Release(other);
  EXPECT_EQ(pool->Acquire(), other);
  pool->Release(other);
  EXPECT_EQ(pool->Acquire(), other);
}

TEST(UnaryClient, IsMadeAndClosedWithoutANetwork) {
  std::shared_ptr<ChannelPool> pool = *ChannelPool::Make(
      {.target = "cloudtasks.invalid:443", .credentials = {.kind = Credentials::Kind::kTls}}, 2);
  UnaryClient client(pool);
  EXPECT_EQ(client.Close(), 0);
}

// gRPC joins its callback threads when the last channel of the process goes, so it must
// never go on one of them: a call that is over refers to no channel.
TEST(UnaryClient, CallThatIsOverHoldsNoChannel) {
  const std::shared_ptr<ChannelPool> pool =
      *ChannelPool::Make({.target = "127.0.0.1:1", .credentials = {}}, 1);
  UnaryClient client(pool);
  const auto channel = pool->channel(0);
  const long users = channel.use_count();
  std::promise<long> users_at_the_end;
  const auto kept =
      client.Send(kCreateTask, kQueue, "", absl::Seconds(5), [&](const Status& status) {
        EXPECT_FALSE(status.ok());
        users_at_the_end.set_value(channel.use_count());
      });
  EXPECT_EQ(users_at_the_end.get_future().get(), users);
  kept->Cancel();  // after the end: nothing
}

// No server in this process: it would keep the threads alive.
TEST(UnaryClient, MayGoWithItsChannelsAtOnceAfterItsLastCall) {
  for (int round = 0; round < 100; ++round) {
    Waiting waiting;
    UnaryClient client(*ChannelPool::Make({.target = "127.0.0.1:1", .credentials = {}}, 1));
    client.Send(kCreateTask, kQueue, "", absl::Seconds(5), waiting.Done());
    EXPECT_FALSE(waiting.status.get().ok());
  }
}

TEST_F(UnaryClientTest, APoolWithoutChannelsIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(ChannelPool::Make({}, 0).status()));
}

TEST_F(UnaryClientTest, TheRetentionOfAQueueIsReadThroughV2beta3) {
  const auto pool = Pool(1);
  const auto facts = ReadQueue(*pool, kQueue, absl::Seconds(20));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->tombstone_ttl, absl::Seconds(600));
  EXPECT_TRUE(absl::IsNotFound(
      ReadQueue(*pool, "projects/p/locations/l/queues/other", absl::Seconds(20)).status()));
}

}  // namespace
}  // namespace sluice::gcp
