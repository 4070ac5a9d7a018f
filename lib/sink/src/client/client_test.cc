// SPDX-License-Identifier: Apache-2.0
// Checklist lines 57, 174, 179-183, 191 and 295: a built sink against a service in this process.
#include "sluice/sink/client.h"

#include <google/cloud/tasks/v2/cloudtasks.grpc.pb.h>
#include <google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "client/client_address.h"
#include "env/posix/clock.h"
#include "env/posix/steady_clock.h"
#include "env/posix/system_random.h"
#include "sluice/gcp/credentials.h"
#include "sluice/sink/cloud_tasks_sink.h"
#include "sluice/sink/http_target.h"
#include "sluice/sink/staged/committable_collector.h"
#include "testing/fails_with.h"
#include "testing/text_body.h"

namespace sluice::sink {
namespace {

using testing::FailsWith;
using testing::TextBody;
using Kind = gcp::Credentials::Kind;
using Sink = CloudTasksSink<std::string>;
namespace v2beta3 = google::cloud::tasks::v2beta3;

class Tasks : public cloudtasks::CloudTasks::Service {
 public:
  grpc::Status CreateTask(grpc::ServerContext* context,
                          const cloudtasks::CreateTaskRequest* request,
                          cloudtasks::Task*) override {
    most_at_once = std::max(most_at_once.load(), ++at_once);
    const std::lock_guard lock(mutex);
    --at_once;  // in line for the lock was at once, too
    bodies.insert(request->task().http_request().body());
    names.insert(request->task().name());
    peers.insert(context->peer());
    return {};
  }
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  std::mutex mutex;
  std::multiset<std::string> bodies;
  std::multiset<std::string> names;
  std::set<std::string> peers;
};

class Queues : public v2beta3::CloudTasks::Service {
 public:
  grpc::Status GetQueue(grpc::ServerContext*, const v2beta3::GetQueueRequest*,
                        v2beta3::Queue* queue) override {
    ++reads;
    queue->mutable_tombstone_ttl()->set_seconds(tombstone_seconds);
    return {};
  }
  int reads = 0;
  std::int64_t tombstone_seconds = 3600;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    grpc::ServerBuilder server;
    int port = 0;
    server.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    server.RegisterService(&tasks);
    server.RegisterService(&queues);
    server_ = server.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
    builder.queue(*QueueDestination::Of("p", "l", "q"))
        .serializer(std::make_shared<HttpTarget::Schema<std::string>>(
            HttpTarget::To("http://h/").WithBody<std::string>(std::make_shared<TextBody>())));
  }
  ~ClientTest() override { server_->Shutdown(); }

  HostServices Host() {
    return {std::make_shared<ThreadMailbox>(), &metrics, &wall, &steady, &random, 0};
  }
  /// Writes and flushes with the client of the sink's own settings.
  Status WriteAll(const Sink& sink, const std::vector<std::string>& records) {
    SLUICE_ASSIGN_OR_RETURN(const auto writer,
                            sink.OpenWriter(Host(), MakeClient(sink.settings(), steady)));
    for (const std::string& record : records) {
      SLUICE_RETURN_IF_ERROR(writer->Write(Sink::Erase(record)));
    }
    SLUICE_RETURN_IF_ERROR(writer->Flush(true));
    return writer->Close();
  }

  Tasks tasks;
  Queues queues;
  std::string address;
  MetricRegistry metrics;
  env::SystemClock wall;
  env::SteadyClock steady;
  env::SystemRandom random;
  Sink::Builder builder;

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ClientTest, RecordsBecomeTasksOfAnEndpoint) {
  EXPECT_EQ(WriteAll(*builder.endpoint(address).Build(), {"a", "b"}), Status());
  EXPECT_EQ(tasks.bodies, (std::multiset<std::string>{"a", "b"}));
  EXPECT_EQ(queues.reads, 0);
}

TEST_F(ClientTest, C180_ThePoolHasTheChannelsAskedFor) {
  builder.writer_options(*WriterOptions::Builder().set_channel_pool_size(3).Build());
  EXPECT_EQ(WriteAll(*builder.endpoint(address).Build(), {"a", "b", "c", "d", "e", "f"}), Status());
  EXPECT_EQ(tasks.bodies.size(), 6U);
  EXPECT_EQ(tasks.peers.size(), 3U);
}

TEST_F(ClientTest, C191_TheBoundHoldsAtEveryMoment) {
  builder.writer_options(*WriterOptions::Builder().set_max_in_flight_tasks(5).Build());
  const Sink sink = *builder.endpoint(address).Build();
  const auto writer = *sink.OpenWriter(Host(), MakeClient(sink.settings(), steady));
  const auto open = [this] {
    return metrics.Sample("inFlightTasks").value() + metrics.Sample("parkedTasks").value();
  };
  for (int i = 0; i < 50; ++i) {
    const std::string record = std::to_string(i);
    ASSERT_TRUE(writer->Write(Sink::Erase(record)).ok());
    EXPECT_LE(open(), 5);
  }
  ASSERT_TRUE(writer->Flush(true).ok());
  EXPECT_EQ(open(), 0);
  EXPECT_EQ(tasks.bodies.size(), 50U);
  EXPECT_LE(tasks.most_at_once, 5);
  EXPECT_TRUE(writer->Close().ok());
}

TEST_F(ClientTest, C57_AnEmulatorHasOneChannelAndIsAskedForNoRetention) {
  builder.delivery_guarantee(DeliveryGuarantee::kExactlyOnce).emulator_endpoint(address);
  const Sink sink = *builder.Build();
  const SinkClient client = MakeClient(sink.settings(), steady);
  EXPECT_EQ(client.make_reader, nullptr);
  EXPECT_TRUE(sink.OpenCommitter(Host(), client).ok());
  EXPECT_EQ(queues.reads, 0);
}

TEST_F(ClientTest, ExactlyOnceStagesAndItsCommitterCreates) {
  const Sink sink =
      *builder.delivery_guarantee(DeliveryGuarantee::kExactlyOnce).endpoint(address).Build();
  const SinkClient client = MakeClient(sink.settings(), steady);
  const auto writer = *sink.OpenWriter(Host(), client);
  const auto committer = *sink.OpenCommitter(Host(), client);
  EXPECT_EQ(queues.reads, 1);
  const std::string record = "a";
  ASSERT_TRUE(writer->Write(Sink::Erase(record)).ok() && writer->Flush(false).ok());
  const std::string batch = *EncodeBatch(*writer->PrepareCommit());
  EXPECT_TRUE(tasks.bodies.empty());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(CommitEncodedBatch(batch, *committer), Status());
  EXPECT_EQ(tasks.bodies.size(), 2U);  // this service keeps no names
  EXPECT_EQ(std::set<std::string>(tasks.names.begin(), tasks.names.end()).size(), 1U);
  EXPECT_TRUE(writer->Close().ok() && committer->Close().ok());
}

TEST_F(ClientTest, C295_AQueueThatForgetsNamesSoonerEndsTheOpening) {
  queues.tombstone_seconds = 60;
  const Sink sink =
      *builder.delivery_guarantee(DeliveryGuarantee::kExactlyOnce).endpoint(address).Build();
  EXPECT_TRUE(FailsWith(sink.OpenCommitter(Host(), MakeClient(sink.settings(), steady)).status(),
                        "tombstoneTtl is shorter"));
}

TEST_F(ClientTest, AnEagerSinkHasNoCommitter) {
  const Sink sink = *builder.endpoint(address).Build();
  EXPECT_TRUE(FailsWith(sink.OpenCommitter(Host(), MakeClient(sink.settings(), steady)).status(),
                        "exactly-once"));
}

class CountingHandler : public FailedTaskHandler {
 public:
  CountingHandler(int* opened, int* closed) : opened_(opened), closed_(closed) {}
  Status Open(const HandlerContext&) override {
    ++*opened_;
    return {};
  }
  Status Handle(const FailedTask&) override { return {}; }
  Status Close() override {
    ++*closed_;
    return {};
  }

 private:
  int* opened_;
  int* closed_;
};

TEST_F(ClientTest, C174_AMissingKeyFileHasAFixedMessageAndClosesTheHandler) {
  int opened = 0;
  int closed = 0;
  builder.service_account_key_file("/nonexistent/key-of-mine.json").failed_task_handler([&] {
    return std::make_unique<CountingHandler>(&opened, &closed);
  });
  const Status status = WriteAll(*builder.Build(), {});
  EXPECT_EQ(Message(status), gcp::kKeyFileMessage);
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(closed, 1);
}

TEST_F(ClientTest, C182_SettingsThatExcludeEachOtherOpenNothing) {
  SinkSettings settings;
  settings.emulator_endpoint = *Endpoint::Parse("emulator_endpoint", address);
  settings.writer_options = *WriterOptions::Builder().set_channel_pool_size(2).Build();
  EXPECT_TRUE(FailsWith(MakeClient(settings, steady).make_creator().status(), "channel_pool_size"));
}

TEST_F(ClientTest, C179_C183_EachSettingReachesItsPlace) {
  EXPECT_EQ(AddressOf(builder.Build()->settings()).target, kGoogleTarget);
  EXPECT_EQ(AddressOf(builder.Build()->settings()).credentials.kind, Kind::kApplicationDefault);

  const auto key =
      AddressOf(Sink::Builder(builder).service_account_key_file("k").Build()->settings());
  EXPECT_EQ(key.credentials.kind, Kind::kServiceAccountKey);
  EXPECT_EQ(key.credentials.key_file, "k");
  EXPECT_EQ(key.target, kGoogleTarget);

  const auto emulator =
      AddressOf(Sink::Builder(builder).emulator_endpoint("h:1").Build()->settings());
  EXPECT_EQ(emulator.credentials.kind, Kind::kPlaintext);
  EXPECT_EQ(emulator.target, "h:1");

  const auto tls =
      AddressOf(Sink::Builder(builder).tls_endpoint("h:2", "roots.pem").Build()->settings());
  EXPECT_EQ(tls.credentials.kind, Kind::kTls);
  EXPECT_EQ(tls.credentials.tls_root_file, "roots.pem");
  EXPECT_EQ(tls.target, "h:2");
}

}  // namespace
}  // namespace sluice::sink
