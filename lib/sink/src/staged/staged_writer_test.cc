// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/staged_writer.h"

#include <gmock/gmock.h>

#include "sluice/sink/staged/envelope_codec.h"
#include "staged/testing.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::HttpTask;
using ::testing::Not;
using testing::Queue;

class StagedWriterTest : public ::testing::Test {
 protected:
  void Open(StagedOptions options = {}) {
    auto mapper = std::make_unique<testing::FakeMapper>(*mapper_);
    mapper_ = mapper.get();
    auto made = OpenStagedWriter({.mapper = std::move(mapper),
                                  .handler = FailJob(),
                                  .options = options,
                                  .host = Services(world_)});
    ASSERT_TRUE(made.ok()) << made.status();
    writer_ = *std::move(made);
  }
  static StagedOptions Caps(int tasks, std::int64_t bytes) {
    return *StagedOptions::Builder()
                .set_max_staged_tasks(tasks)
                .set_max_staged_bytes(bytes)
                .Build();
  }
  Status Write(const std::string& record) { return writer_->Write({.value = &record}); }
  std::string Refusal(const std::string& record) {
    const Status status = Write(record);
    EXPECT_FALSE(status.ok());
    return std::string(Message(status));
  }
  std::vector<Envelope> HandOver() {
    auto batch = writer_->PrepareCommit();
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? *std::move(batch) : std::vector<Envelope>();
  }
  std::int64_t Metric(std::string_view name) { return world_.metrics.Sample(name).value_or(-77); }
  static std::string NameOf(const Envelope& envelope) {
    pb::Task task;
    EXPECT_TRUE(task.ParseFromString(envelope.task));
    return task.name();
  }

  testing::World world_{1'000'000};
  testing::FakeMapper prototype_;
  testing::FakeMapper* mapper_ = &prototype_;  // the writer's own, once it is open
  std::unique_ptr<SinkWriter> writer_;
};

TEST_F(StagedWriterTest, GaugesFollowTheBatchAndNothingElse) {
  Open();
  EXPECT_EQ(Metric("oldestStagedTaskAgeMillis"), -1);
  ASSERT_TRUE(Write("a").ok());
  world_.Advance(milliseconds(500));
  ASSERT_TRUE(Write("b").ok());
  ASSERT_TRUE(writer_->Flush(false).ok());
  EXPECT_EQ(Metric("oldestStagedTaskAgeMillis"), 500);
  EXPECT_EQ(Metric("stagedReplayBudgetMillis"), 3'279'500);
  EXPECT_EQ(Metric("stagedTasks"), 2);
  HandOver();
  EXPECT_EQ(Metric("oldestStagedTaskAgeMillis"), -1);
  EXPECT_EQ(Metric("stagedReplayBudgetMillis"), -1);
  EXPECT_EQ(Metric("stagedTasks"), 0);
  EXPECT_EQ(Metric("stagedBytes"), 0);
  ASSERT_TRUE(Write("c").ok());
  world_.Advance(milliseconds(3'280'000));
  EXPECT_EQ(Metric("stagedReplayBudgetMillis"), 0);
  ASSERT_TRUE(writer_->Close().ok());
  EXPECT_EQ(Metric("stagedReplayBudgetMillis"), -1);
  EXPECT_EQ(Metric("stagedTasks"), 0);
}

TEST_F(StagedWriterTest, EqualRecordsAreTwoEnvelopesUnderRandomNames) {
  Open();
  ASSERT_TRUE(Write("same").ok());
  world_.Advance(milliseconds(500));
  ASSERT_TRUE(Write("same").ok());
  const std::vector<Envelope> batch = HandOver();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(world_.random.draws, 4U);  // two of 8 bytes for each name
  const std::string parent = std::string(testing::kQueuePath) + "/tasks/";
  EXPECT_EQ(NameOf(batch[0]), parent + std::string(31, '0') + "1");
  EXPECT_EQ(NameOf(batch[1]), parent + std::string(31, '0') + "2");
  EXPECT_EQ(batch[0].origin_millis, 1'000'000);
  EXPECT_EQ(batch[1].origin_millis, 1'000'500);
  EXPECT_EQ(batch[0].deadline_millis, 4'280'000);
  EXPECT_TRUE(HandOver().empty());
  ASSERT_TRUE(writer_->Close().ok());
  EXPECT_EQ(batch.size(), 2U);
  EXPECT_THAT(std::string(Message(writer_->PrepareCommit().status())), HasSubstr("closed"));
  EXPECT_EQ(world_.metrics.Sample("numRecordsSend"), std::nullopt);
}

TEST_F(StagedWriterTest, AKeyNamesItsTaskEveryTimeAlike) {
  mapper_->key = [] { return std::optional<std::string>("order-1"); };
  Open();
  ASSERT_TRUE(Write("a").ok());
  ASSERT_TRUE(Write("b").ok());
  const std::vector<Envelope> batch = HandOver();
  ASSERT_EQ(batch.size(), 2U);
  for (const Envelope& envelope : batch) {
    EXPECT_THAT(NameOf(envelope),
                EndsWith("/0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057"));
  }
  EXPECT_EQ(world_.random.draws, 0U);
}

TEST_F(StagedWriterTest, ASkippedRecordTakesNothing) {
  mapper_->serialize = [](const std::string&, pb::Task&) { return false; };
  Open(Caps(1, 1));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(Metric("recordsSkipped"), 1);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 0);
  EXPECT_EQ(Metric("stagedTasks"), 0);
  EXPECT_EQ(world_.random.draws, 0U);
}

TEST_F(StagedWriterTest, AFullBatchFailsAtOnceAndKeepsWhatItHas) {
  Open(Caps(3, 64 << 20));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Write("secret").ok());
  EXPECT_THAT(Refusal("secret"),
              AllOf(HasSubstr("stagedTasks=3"), HasSubstr("maxStagedTasks=3"),
                    HasSubstr("maxStagedBytes=67108864"),
                    HasSubstr("shorten the checkpoint interval"), Not(HasSubstr("secret"))));
  EXPECT_EQ(HandOver().size(), 3U);
}

TEST_F(StagedWriterTest, TheByteCapCountsTheTaskAndItsOverhead) {
  Open();
  ASSERT_TRUE(Write("a").ok());
  const auto weight = static_cast<std::int64_t>(HandOver().at(0).task.size()) + 256;
  Open(Caps(100, weight));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(Metric("stagedBytes"), weight);
  EXPECT_THAT(Refusal("a"), HasSubstr(fmt::format("adds {} bytes", weight)));
  EXPECT_EQ(HandOver().size(), 1U);
  EXPECT_TRUE(Write("a").ok());
}

TEST_F(StagedWriterTest, ATaskTooLargeIsNotACapacityProblem) {
  Open(Caps(1, 1));
  EXPECT_THAT(
      Refusal(std::string(100'000, 'x')),
      AllOf(HasSubstr("serialization failed"), HasSubstr("100000"), Not(HasSubstr("maxStaged"))));
  EXPECT_EQ(Metric("numRecordsSendErrors"), 1);
}

TEST_F(StagedWriterTest, MissingQueueOrKeyAndForeignNamesFailWithoutEcho) {
  Open();
  mapper_->queue = nullptr;
  EXPECT_THAT(Refusal("a"), HasSubstr("resolver returned null"));
  mapper_->queue = &Queue();
  mapper_->key = [] { return std::optional<std::string>(); };
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("no key"), HasSubstr("every record needs a key")));
  mapper_->key = [] { return std::optional<std::string>(""); };
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("empty key"), HasSubstr("every record needs a key")));
  EXPECT_EQ(Metric("numRecordsSendErrors"), 0);
  mapper_->key = []() -> StatusOr<std::optional<std::string>> { return Internal("secret key"); };
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("extractor failed"), Not(HasSubstr("secret"))));
  EXPECT_EQ(Metric("numRecordsSendErrors"), 1);
  mapper_->serialize = [](const std::string&, pb::Task& task) {
    task.set_name("secret-name");
    return true;
  };
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("already named"), Not(HasSubstr("secret"))));
  EXPECT_TRUE(HandOver().empty());
}

TEST_F(StagedWriterTest, AFailingResolverLeaksNothing) {
  mapper_->queue = Internal("secret");
  Open();
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("resolver failed"), Not(HasSubstr("secret"))));
  EXPECT_EQ(world_.random.draws, 0U);
  EXPECT_EQ(mapper_->serialized, 0);
}

TEST_F(StagedWriterTest, WhatCannotBeATaskFailsAsSerialization) {
  Open();
  const auto refused = [this](auto change) {
    mapper_->serialize = [change](const std::string&, pb::Task& task) -> StatusOr<bool> {
      task = HttpTask("secret");
      return change(task);
    };
    EXPECT_THAT(Refusal("secret"),
                AllOf(HasSubstr("serialization failed"), Not(HasSubstr("secret"))));
  };
  const auto app = [](pb::Task& task) {
    task.mutable_app_engine_http_request()->set_http_method(pb::POST);
    return task.mutable_app_engine_http_request();
  };
  refused([](pb::Task&) -> StatusOr<bool> { return Internal("secret"); });
  refused([](pb::Task& task) { return task.clear_http_request(), true; });
  refused(
      [](pb::Task& task) { return task.mutable_http_request()->set_http_method(pb::GET), true; });
  refused([&](pb::Task& task) { return app(task)->set_relative_uri("secret"), true; });
  refused([&](pb::Task& task) {
    return app(task)->mutable_app_engine_routing()->set_host("secret"), true;
  });
  refused([&](pb::Task& task) {
    (*app(task)->mutable_headers())["Content-Length"] = "secret";
    return true;
  });
  EXPECT_EQ(Metric("numRecordsSendErrors"), 6);
  for (const std::string email : {"", " "}) {
    for (const bool oidc : {true, false}) {
      mapper_->serialize = [=](const std::string&, pb::Task& task) {
        task = HttpTask("secret");
        pb::HttpRequest& request = *task.mutable_http_request();
        if (oidc) request.mutable_oidc_token()->set_service_account_email(email);
        if (!oidc) request.mutable_oauth_token()->set_service_account_email(email);
        return true;
      };
      EXPECT_THAT(Refusal("a"), HasSubstr("target constraints"));
    }
  }
  EXPECT_TRUE(HandOver().empty());
}

TEST_F(StagedWriterTest, AppEngineTasksStayAsTheyAreAndCloseIsFinal) {
  pb::Task made;
  made.mutable_app_engine_http_request()->set_http_method(pb::PUT);
  made.mutable_app_engine_http_request()->set_relative_uri("/work");
  made.mutable_app_engine_http_request()->set_body("b");
  mapper_->serialize = [&](const std::string&, pb::Task& task) {
    task = made;
    return true;
  };
  Open();
  ASSERT_TRUE(Write("a").ok());
  ASSERT_TRUE(writer_->Flush(false).ok());
  ASSERT_TRUE(writer_->Flush(true).ok());
  const std::vector<Envelope> batch = HandOver();
  ASSERT_EQ(batch.size(), 1U);
  pb::Task staged;
  ASSERT_TRUE(staged.ParseFromString(batch[0].task));
  staged.clear_name();
  EXPECT_EQ(staged.SerializeAsString(), made.SerializeAsString());
  EXPECT_EQ(mapper_->serialized, 1);
  EXPECT_TRUE(writer_->Close().ok());
  EXPECT_TRUE(writer_->Close().ok());
  EXPECT_THAT(Refusal("a"), HasSubstr("closed"));
  EXPECT_THAT(std::string(Message(writer_->Flush(false))), HasSubstr("closed"));
}

TEST_F(StagedWriterTest, AHandlerThatMayDropIsRefused) {
  const auto made = OpenStagedWriter({.mapper = std::make_unique<testing::FakeMapper>(),
                                      .handler = LogAndDrop([](std::string_view) {}),
                                      .options = {},
                                      .host = Services(world_)});
  EXPECT_THAT(std::string(Message(made.status())), HasSubstr("failJob"));
  EXPECT_FALSE(StagedOptions::Builder().set_max_staged_tasks(0).Build().ok());
}

}  // namespace
}  // namespace sluice::sink
