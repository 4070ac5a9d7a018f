// SPDX-License-Identifier: Apache-2.0
// Checklist 12.6 (65-74, 85-88) and 12.24 (328-331).
#include "sluice/sink/cloud_tasks_sink.h"

#include <gtest/gtest.h>

#include "testing/writer_harness.h"

namespace sluice::sink {
namespace {

using testing::FailsWith;
using testing::QueueNamed;
using Sink = CloudTasksSink<std::string>;

class BodySerializer : public TaskSerializer<std::string> {
 public:
  StatusOr<bool> Serialize(const std::string& record, testing::Task& task) override {
    task.mutable_http_request()->set_body(record);
    return true;
  }
};

class UserResolver : public DestinationResolver<std::string> {
 public:
  StatusOr<const QueueDestination*> Resolve(const std::string&, const WriteContext&) override {
    ++calls;
    return &queue;
  }
  QueueDestination queue = QueueNamed("routed");
  int calls = 0;
};

class SinkBuilderTest : public ::testing::Test {
 protected:
  SinkBuilderTest() {
    builder.queue(QueueNamed("webhooks")).serializer(std::make_shared<BodySerializer>());
  }
  Sink::Builder builder;
};

TEST_F(SinkBuilderTest, C65_C85_DefaultsOfAnUntouchedBuild) {
  const auto sink = *builder.Build();
  EXPECT_EQ(sink.settings().writer_options, WriterOptions());
  EXPECT_EQ(sink.settings().guarantee, DeliveryGuarantee::kAtLeastOnce);
  EXPECT_TRUE(sink.settings().make_handler()->fails_job());
  EXPECT_EQ(sink.settings().service_account_key_file, std::nullopt);
  EXPECT_EQ(sink.settings().emulator_endpoint, std::nullopt);
  EXPECT_FALSE(sink.NewMapper()->has_task_ids());
  EXPECT_EQ(*sink.fixed_queue(), QueueNamed("webhooks"));
}

TEST_F(SinkBuilderTest, C66_C67_SettingsAreCarriedUnchanged) {
  const auto options = *WriterOptions::Builder().set_channel_pool_size(8).Build();
  const auto sink = *builder.writer_options(options)
                         .service_account_key_file("key.json")
                         .tls_endpoint("127.0.0.1:8085")
                         .Build();
  EXPECT_EQ(sink.settings().writer_options, options);
  EXPECT_EQ(sink.settings().service_account_key_file, "key.json");
  EXPECT_EQ(sink.settings().endpoint->address.port(), 8085);
  EXPECT_TRUE(sink.settings().endpoint->is_tls);
}

TEST_F(SinkBuilderTest, C68_C330_LastOfQueueAndResolverCounts) {
  const auto resolver = std::make_shared<UserResolver>();
  EXPECT_EQ(builder.destination_resolver(resolver).Build()->fixed_queue(), nullptr);
  EXPECT_EQ(*builder.queue(QueueNamed("b")).Build()->fixed_queue(), QueueNamed("b"));
  const auto fixed = std::make_shared<FixedDestination<std::string>>(QueueNamed("c"));
  EXPECT_EQ(*builder.destination_resolver(fixed).Build()->fixed_queue(), QueueNamed("c"));
}

TEST(SinkBuilder, C69_MissingPartsAreNamed) {
  EXPECT_TRUE(FailsWith(Sink::Builder().Build().status(), "serializer"));
  const Status status =
      Sink::Builder().serializer(std::make_shared<BodySerializer>()).Build().status();
  EXPECT_TRUE(FailsWith(status, "queue"));
  EXPECT_TRUE(FailsWith(status, "destination_resolver"));
}

TEST_F(SinkBuilderTest, C71_C72_BadValuesAreRefusedByName) {
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).serializer(nullptr).Build().status(), "serializer"));
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).task_id_extractor(nullptr).Build().status(),
                        "task_id_extractor"));
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).service_account_key_file(" \t").Build().status(),
                        "must not be blank"));
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).emulator_endpoint("localhost8123").Build().status(),
                        "emulator_endpoint must have the form host:port"));
}

TEST_F(SinkBuilderTest, C73_C74_EmulatorTakesNeitherCredentialsNorAPool) {
  const Status key = Sink::Builder(builder)
                         .emulator_endpoint("h:1")
                         .service_account_key_file("k")
                         .Build()
                         .status();
  EXPECT_TRUE(FailsWith(key, "service_account_key_file") && FailsWith(key, "emulator_endpoint"));
  const Status pool =
      Sink::Builder(builder)
          .emulator_endpoint("h:1")
          .writer_options(*WriterOptions::Builder().set_channel_pool_size(8).Build())
          .Build()
          .status();
  EXPECT_TRUE(FailsWith(pool, "channel_pool_size") && FailsWith(pool, "emulator_endpoint"));
}

TEST_F(SinkBuilderTest, CredentialsNeedAnEndpointThatTheyCanTrust) {
  builder.service_account_key_file("k");
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).endpoint("h:1").Build().status(), "plaintext"));
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).tls_endpoint("h:1", "roots.pem").Build().status(),
                        "root file"));
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).tls_endpoint("h").Build().status(),
                        "tls_endpoint must have the form host:port"));
}

TEST_F(SinkBuilderTest, C86_C87_C88_StagedModeNeedsItsModeAFixedQueueAndFailJob) {
  EXPECT_TRUE(FailsWith(Sink::Builder(builder).staged_options({}).Build().status(),
                        "staged_options need the delivery_guarantee"));
  builder.delivery_guarantee(DeliveryGuarantee::kExactlyOnce);
  EXPECT_TRUE(builder.Build().ok());
  EXPECT_TRUE(FailsWith(Sink::Builder(builder)
                            .destination_resolver(std::make_shared<UserResolver>())
                            .Build()
                            .status(),
                        "fixed queue"));
  EXPECT_TRUE(FailsWith(
      Sink::Builder(builder).failed_task_handler([] { return LogAndDrop(); }).Build().status(),
      "FailJob"));
}

TEST_F(SinkBuilderTest, C328_C329_LineageIsTheFixedQueueAndCallsNothing) {
  const auto lineage = builder.Build()->Lineage();
  ASSERT_EQ(lineage.size(), 1U);
  EXPECT_EQ(lineage[0].name_space, "cloudtasks://my-project/asia-northeast1");
  EXPECT_EQ(lineage[0].name, "webhooks");
  EXPECT_EQ(lineage[0].kind, "cloudtasks-queue");
  EXPECT_EQ(lineage[0].identity, "my-project/asia-northeast1/webhooks");
  EXPECT_EQ(builder.Build()->Lineage(), lineage);
  const auto resolver = std::make_shared<UserResolver>();
  EXPECT_TRUE(builder.destination_resolver(resolver).Build()->Lineage().empty());
  EXPECT_EQ(resolver->calls, 0);
}

TEST_F(SinkBuilderTest, OpenedWriterCreatesTheTasksOfItsRecords) {
  testing::WriterHarness world;
  builder.task_id_extractor([](const std::string& record) -> StatusOr<std::optional<std::string>> {
    return std::optional<std::string>(record);
  });
  const auto sink = *builder.Build();
  const auto writer = sink.OpenWriter(
      world.Host(), {.make_creator = [&world]() -> StatusOr<std::unique_ptr<TaskCreator>> {
                       return std::make_unique<testing::ScriptedCreator>(world.creator);
                     },
                     .make_reader = nullptr});
  ASSERT_TRUE(writer.ok());
  const std::string record = "order-1";
  ASSERT_TRUE((*writer)->Write(Sink::Erase(record)).ok() && (*writer)->Flush(true).ok());
  ASSERT_EQ(world.sent(), 1U);
  EXPECT_TRUE(world.creator->requests[0].task().name().ends_with(
      "/tasks/0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057"));
}

}  // namespace
}  // namespace sluice::sink
