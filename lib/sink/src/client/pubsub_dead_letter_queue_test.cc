// SPDX-License-Identifier: Apache-2.0
// Checklist 12.25 (334-344), against a Publisher in this process that can hold its answers.
#include "sluice/sink/pubsub_dead_letter_queue.h"

#include <google/protobuf/util/message_differencer.h>
#include <google/pubsub/v1/pubsub.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "env/posix/steady_clock.h"
#include "sluice/gcp/credentials.h"
#include "sluice/sink/serializer.h"
#include "testing/fails_with.h"

namespace sluice::sink {
namespace {

namespace pubsub = google::pubsub::v1;
using namespace std::chrono_literals;
using testing::FailsWith;
using Builder = PubSubDeadLetterSettings::Builder;

class Publisher : public pubsub::Publisher::CallbackService {
 public:
  grpc::ServerUnaryReactor* Publish(grpc::CallbackServerContext* context,
                                    const pubsub::PublishRequest* request,
                                    pubsub::PublishResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const std::lock_guard lock(mutex);
    requests.push_back(*request);
    if (is_holding) {
      held.push_back(reactor);
    } else {
      Answer(reactor);
    }
    changed.notify_all();
    return reactor;
  }

  void AwaitRequests(std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return requests.size() >= count; });
  }
  void Release() {
    const std::lock_guard lock(mutex);
    is_holding = false;
    for (grpc::ServerUnaryReactor* reactor : held) Answer(reactor);
    held.clear();
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return requests.size();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool is_holding = false;
  std::deque<grpc::Status> answers;  // OK when empty
  std::vector<pubsub::PublishRequest> requests;
  std::vector<grpc::ServerUnaryReactor*> held;

 private:
  void Answer(grpc::ServerUnaryReactor* reactor) {
    grpc::Status status;
    if (!answers.empty()) {
      status = answers.front();
      answers.pop_front();
    }
    reactor->Finish(status);
  }
};

class PubSubDeadLetterQueueTest : public ::testing::Test {
 protected:
  PubSubDeadLetterQueueTest() {
    grpc::ServerBuilder server;
    int port = 0;
    server.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server.RegisterService(&publisher);
    server_ = server.BuildAndStart();
    builder.topic("p", "dead").emulator_endpoint("127.0.0.1:" + std::to_string(port));
    task.mutable_http_request()->set_url("http://h/");
    task.mutable_http_request()->set_body("b");
  }
  ~PubSubDeadLetterQueueTest() override {
    publisher.Release();
    if (letters != nullptr) {
      EXPECT_TRUE(letters->Close().ok());
    }
    server_->Shutdown();
  }

  void Open() {
    letters = MakePubSubDeadLetterQueue(*builder.Build());
    ASSERT_TRUE(letters->Open({.subtask_index = 3, .metrics = &metrics}).ok());
  }
  Status Offer(bool has_task = true) {
    return letters->Offer({queue, has_task ? &task : nullptr, "refused", std::nullopt});
  }
  std::int64_t Metric(std::string_view name) { return metrics.Sample(name).value_or(-1); }

  Publisher publisher;
  MetricRegistry metrics;
  Builder builder;
  std::unique_ptr<DeadLetterQueue> letters;
  cloudtasks::Task task;
  QueueDestination queue = *QueueDestination::Of("p", "l", "q");

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(PubSubDeadLetterQueueTest, C334_AMessageIsTheTaskAndFiveAttributes) {
  Open();
  ASSERT_TRUE(Offer().ok() && Offer(false).ok());
  ASSERT_EQ(letters->Flush(), Status());
  ASSERT_EQ(publisher.requests.size(), 2U);
  std::set<std::string> datas;
  for (const auto& request : publisher.requests) {
    EXPECT_EQ(request.topic(), "projects/p/topics/dead");
    ASSERT_EQ(request.messages_size(), 1);
    const pubsub::PubsubMessage& message = request.messages(0);
    datas.insert(message.data());
    EXPECT_EQ(message.ordering_key(), "");
    EXPECT_EQ(message.attributes_size(), 5);
    EXPECT_EQ(message.attributes().at("dlq-connector"), "cloudtasks");
    EXPECT_EQ(message.attributes().at("dlq-destination"), queue.path());
    EXPECT_EQ(message.attributes().at("dlq-error"), "refused");
    EXPECT_EQ(message.attributes().at("dlq-subtask"), "3");
    absl::Time when;
    std::string why;
    EXPECT_TRUE(
        absl::ParseTime(absl::RFC3339_full, message.attributes().at("dlq-timestamp"), &when, &why))
        << why;
  }
  EXPECT_EQ(datas, (std::set<std::string>{"", task.SerializeAsString()}));
}

TEST(DeadLetterError, C335_IsCutBetweenCharacters) {
  const std::string exact(1024, 'x');
  EXPECT_EQ(DeadLetterError(exact), exact);
  EXPECT_EQ(DeadLetterError(exact + "x"), std::string(1021, 'x') + "...");
  std::string wide;
  for (int i = 0; i < 400; ++i) wide += "\u6771";
  const std::string cut = DeadLetterError(wide);
  EXPECT_EQ(cut.size(), 1023U);
  EXPECT_TRUE(cut.ends_with("..."));
  EXPECT_TRUE(IsUtf8(cut));
  EXPECT_EQ(DeadLetterError("a\xff\xe6z"), "a??z");
}

TEST(PubSubDeadLetterSettings, C336_C343_ValuesAreCheckedAndHaveDefaults) {
  const auto valid = [] { return Builder().topic("p", "t"); };
  EXPECT_EQ(valid().Build()->max_in_flight_messages(), 1000);
  EXPECT_EQ(valid().Build()->flush_timeout(), 60s);
  EXPECT_EQ(valid().Build()->shutdown_timeout(), 30s);
  EXPECT_EQ(valid().flush_timeout(24h * 1000).Build()->flush_timeout(), 24h * 1000);
  for (const int bound : {0, -1}) {
    EXPECT_EQ(valid().max_in_flight_messages(bound).Build()->max_in_flight_messages(), bound);
  }
  EXPECT_TRUE(FailsWith(Builder().Build().status(), "topic must be set"));
  EXPECT_TRUE(FailsWith(Builder().topic(" ", "t").Build().status(), "project of a topic"));
  EXPECT_TRUE(FailsWith(Builder().topic("p", "a/b").Build().status(), "topic id of a topic"));
  EXPECT_TRUE(FailsWith(valid().service_account_key_file(" ").Build().status(), "blank"));
  EXPECT_TRUE(FailsWith(valid().emulator_endpoint("h").Build().status(), "host:port"));
  EXPECT_TRUE(FailsWith(valid().max_in_flight_messages(-2).Build().status(),
                        "max_in_flight_messages must be at least -1"));
  EXPECT_TRUE(FailsWith(valid().flush_timeout(0s).Build().status(), "flush_timeout"));
  EXPECT_TRUE(FailsWith(valid().shutdown_timeout(-1s).Build().status(), "shutdown_timeout"));
  const Status both =
      valid().emulator_endpoint("h:1").service_account_key_file("k").Build().status();
  EXPECT_TRUE(FailsWith(both, "service_account_key_file") && FailsWith(both, "emulator_endpoint"));
}

TEST(PubSubDeadLetterQueue, C337_AMissingKeyFileIsSeenWhenTheQueueOpens) {
  MetricRegistry metrics;
  const auto letters = MakePubSubDeadLetterQueue(
      *Builder().topic("p", "t").service_account_key_file("/nonexistent/mine.json").Build());
  const Status status = letters->Open({.subtask_index = 0, .metrics = &metrics});
  EXPECT_EQ(Message(status), gcp::kKeyFileMessage);
}

TEST_F(PubSubDeadLetterQueueTest, C338_BeforeItIsOpenNothingGoesButAClose) {
  letters = MakePubSubDeadLetterQueue(*builder.Build());
  EXPECT_TRUE(FailsWith(Offer(), "not open"));
  EXPECT_TRUE(FailsWith(letters->Flush(), "not open"));
  EXPECT_TRUE(letters->Close().ok());
}

TEST_F(PubSubDeadLetterQueueTest, C339_C340_AWaitHasOneDeadlineForAll) {
  publisher.is_holding = true;
  builder.flush_timeout(200ms);
  Open();
  ASSERT_TRUE(Offer().ok() && Offer().ok() && Offer().ok());
  publisher.AwaitRequests(3);
  const env::SteadyClock clock;
  const auto begin = clock.Now();
  const Status status = letters->Flush();
  EXPECT_GE(clock.Now() - begin, 150ms);
  EXPECT_LE(clock.Now() - begin, 10s);
  EXPECT_TRUE(FailsWith(status, "projects/p/topics/dead"));
  EXPECT_TRUE(FailsWith(status, "flush_timeout"));
  EXPECT_TRUE(FailsWith(status, "3 of 3 publishes unresolved"));
  EXPECT_GE(Metric("deadLetterFlushMillis"), 150);
  EXPECT_EQ(Metric("inFlightDeadLetters"), 0);
  EXPECT_EQ(letters->Flush(), Status()) << "nothing is held after a wait, however it ended";
}

TEST_F(PubSubDeadLetterQueueTest, C340_WhatIsDoneIsTakenWithNoTimeLeft) {
  builder.flush_timeout(1ns).max_in_flight_messages(-1);
  Open();
  // Nothing tells when an answer has come; each round gives it longer than the one before.
  Status status;
  for (int round = 1; round == 1 || !status.ok(); ++round) {
    ASSERT_TRUE(Offer().ok());
    publisher.AwaitRequests(static_cast<std::size_t>(round));
    for (int i = 0; i < 100 * round; ++i) std::this_thread::yield();
    status = letters->Flush();
  }
  EXPECT_GE(Metric("deadLettersPublished"), 1);
}

TEST_F(PubSubDeadLetterQueueTest, C340_TheLongestTimeoutIsNotSpentAtOnce) {
  builder.flush_timeout(std::chrono::nanoseconds::max());
  Open();
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(letters->Flush(), Status());
}

TEST_F(PubSubDeadLetterQueueTest, C341_AFailedPublishIsReportedAndTheOthersCount) {
  publisher.answers = {grpc::Status(), {grpc::StatusCode::NOT_FOUND, "no such topic"}};
  Open();
  ASSERT_TRUE(Offer().ok() && Offer().ok() && Offer().ok());
  const Status status = letters->Flush();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_TRUE(FailsWith(status, "Publishing a dead letter to projects/p/topics/dead"));
  EXPECT_TRUE(FailsWith(status, "no such topic"));
  EXPECT_EQ(Metric("deadLettersPublished"), 2);
}

TEST_F(PubSubDeadLetterQueueTest, APublishThatFailsForTheMomentIsSentAgain) {
  publisher.answers = {{grpc::StatusCode::UNAVAILABLE, "soon"},
                       {grpc::StatusCode::UNAVAILABLE, ""}};
  Open();
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(letters->Flush(), Status());
  ASSERT_EQ(publisher.requests.size(), 3U);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(publisher.requests[0],
                                                                 publisher.requests[2]));
  EXPECT_EQ(Metric("deadLettersPublished"), 1);
}

TEST_F(PubSubDeadLetterQueueTest, AnExpiredWaitNamesTheLastAnswer) {
  publisher.answers.assign(20, {grpc::StatusCode::UNAVAILABLE, "down for now"});
  builder.flush_timeout(250ms);
  Open();
  ASSERT_TRUE(Offer().ok());
  const Status status = letters->Flush();
  EXPECT_TRUE(FailsWith(status, "1 of 1 publishes unresolved"));
  EXPECT_TRUE(FailsWith(status, "down for now"));
}

TEST_F(PubSubDeadLetterQueueTest, C342_GaugesOfWaits) {
  Open();
  EXPECT_EQ(Metric("deadLetterFlushMillis"), 0);
  EXPECT_EQ(Metric("longestDeadLetterFlushMillis"), 0);
  publisher.answers = {{grpc::StatusCode::UNAVAILABLE, ""}};  // at least 75 ms of backoff
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(Metric("inFlightDeadLetters"), 1);
  ASSERT_TRUE(letters->Flush().ok());
  const std::int64_t longest = Metric("longestDeadLetterFlushMillis");
  EXPECT_GE(longest, 75);
  EXPECT_EQ(Metric("deadLetterFlushMillis"), longest);
  ASSERT_TRUE(letters->Flush().ok());
  EXPECT_EQ(Metric("deadLetterFlushMillis"), longest) << "an empty wait changes nothing";
  publisher.answers.clear();
  ASSERT_TRUE(Offer().ok() && letters->Flush().ok());
  EXPECT_LE(Metric("deadLetterFlushMillis"), longest);
  EXPECT_GE(Metric("longestDeadLetterFlushMillis"), longest);
}

TEST_F(PubSubDeadLetterQueueTest, C344_BoundsSayWhenAnOfferWaits) {
  builder.max_in_flight_messages(0);
  Open();
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(Metric("deadLettersPublished"), 1);
  ASSERT_TRUE(letters->Close().ok());

  builder.max_in_flight_messages(2);
  Open();
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(Metric("inFlightDeadLetters"), 1);
  ASSERT_TRUE(Offer().ok());
  EXPECT_EQ(Metric("inFlightDeadLetters"), 0);
  EXPECT_EQ(Metric("deadLettersPublished"), 3);
  ASSERT_TRUE(letters->Close().ok());

  builder.max_in_flight_messages(-1);
  Open();
  ASSERT_TRUE(Offer().ok() && Offer().ok() && Offer().ok());
  EXPECT_EQ(Metric("inFlightDeadLetters"), 3);
  ASSERT_TRUE(letters->Flush().ok());
  EXPECT_EQ(Metric("deadLettersPublished"), 6);
}

TEST_F(PubSubDeadLetterQueueTest, C344_ThroughTheHandlerALetterIsDelivered) {
  const auto handler = SendToDeadLetterQueue(MakePubSubDeadLetterQueue(*builder.Build()));
  ASSERT_TRUE(handler->Open({.subtask_index = 0, .metrics = &metrics}).ok());
  ASSERT_TRUE(handler->Handle({queue, &task, "refused", std::nullopt}).ok());
  ASSERT_TRUE(handler->Flush().ok());
  EXPECT_EQ(publisher.count(), 1U);
  EXPECT_TRUE(handler->Close().ok());
}

TEST_F(PubSubDeadLetterQueueTest, ACloseIsBoundedAndCountsWhatItGaveUp) {
  publisher.is_holding = true;
  builder.shutdown_timeout(20ms);
  Open();
  ASSERT_TRUE(Offer().ok());
  publisher.AwaitRequests(1);
  EXPECT_TRUE(letters->Close().ok());
  EXPECT_EQ(Metric("deadLetterPublisherShutdownsAbandoned"), 1);
  EXPECT_TRUE(letters->Close().ok());
}

}  // namespace
}  // namespace sluice::sink
