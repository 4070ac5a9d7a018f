// SPDX-License-Identifier: Apache-2.0
// Checklist 45-51, 61-64 and the look-ups of section 4.
#include "sluice/sink/failure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sluice/sink/failed_task_handler.h"

namespace sluice::sink {
namespace {

using Code = absl::StatusCode;

const QueueDestination& Queue() {
  static const auto queue = *QueueDestination::Of("my-project", "asia-northeast1", "webhooks");
  return queue;
}

google::cloud::tasks::v2::Task TaskWithBody(const std::string& body) {
  google::cloud::tasks::v2::Task task;
  task.mutable_http_request()->set_url("https://worker.example/x");
  task.mutable_http_request()->set_body(body);
  return task;
}

TEST(Failure, CodeIsOutermostAndTransientIsAnywhere) {
  const Failure chain = Failure(Code::kUnavailable, "down").WrappedIn("refused", Code::kInternal);
  EXPECT_EQ(chain.code(), Code::kInternal);
  EXPECT_EQ(chain.transient(), Code::kUnavailable);
  EXPECT_EQ(chain.class_name(), "INTERNAL");
}

TEST(Failure, WrapperWithoutCodeIsLookedThrough) {
  const Failure chain =
      Failure(Code::kResourceExhausted, "slow").WrappedIn("inner").WrappedIn("outer");
  EXPECT_EQ(chain.code(), Code::kResourceExhausted);
  EXPECT_EQ(chain.transient(), Code::kResourceExhausted);
  EXPECT_EQ(chain.ToString(), "outer: inner: RESOURCE_EXHAUSTED slow");
}

TEST(Failure, WithoutACodeIsUnclassified) {
  const Failure failure(std::nullopt, "odd");
  EXPECT_EQ(failure.code(), std::nullopt);
  EXPECT_EQ(failure.transient(), std::nullopt);
  EXPECT_EQ(failure.class_name(), "UNCLASSIFIED");
  EXPECT_EQ(failure.ToStatus().code(), Code::kUnknown);
}

TEST(Failure, FirstTransientOfSeveralCounts) {
  const Failure chain = Failure(Code::kDeadlineExceeded, "b").WrappedIn("a", Code::kUnavailable);
  EXPECT_EQ(chain.transient(), Code::kUnavailable);
}

TEST(FailedTask, C61_C62_CarriesItsPartsAndThePayloadParsesBack) {
  const auto task = TaskWithBody("secret");
  const FailedTask failed(Queue(), &task, "refused", Failure(Code::kInvalidArgument, "bad"));
  EXPECT_EQ(failed.connector(), "cloudtasks");
  EXPECT_EQ(failed.destination_text(),
            "projects/my-project/locations/asia-northeast1/queues/webhooks");
  google::cloud::tasks::v2::Task parsed;
  ASSERT_TRUE(parsed.ParseFromString(failed.Payload().value_or("")));
  EXPECT_EQ(parsed.http_request().url(), "https://worker.example/x");
  EXPECT_EQ(parsed.SerializeAsString(), task.SerializeAsString());
}

TEST(FailedTask, C63_C64_TextHidesThePayload) {
  const auto task = TaskWithBody("secret");
  EXPECT_EQ(FailedTask(Queue(), &task, "m", std::nullopt).ToString().find("secret"),
            std::string::npos);
  const FailedTask none(Queue(), nullptr, "m", std::nullopt);
  EXPECT_EQ(none.Payload(), std::nullopt);
  EXPECT_NE(none.ToString().find("task=null"), std::string::npos);
}

TEST(FailJob, C45_NamesConnectorDestinationMessageAndCause) {
  const auto handler = FailJob();
  const Status status =
      handler->Handle(FailedTask(Queue(), nullptr, "refused", Failure(Code::kInternal, "root")));
  EXPECT_FALSE(status.ok());
  for (const std::string part : {"cloudtasks", "queues/webhooks", "refused", "root"}) {
    EXPECT_NE(Message(status).find(part), std::string_view::npos) << part;
  }
  EXPECT_TRUE(handler->fails_job());
  EXPECT_TRUE(handler->Open({}).ok() && handler->Flush().ok() && handler->Close().ok());  // C50
}

TEST(LogAndDrop, C46_WritesOneLineAndDrops) {
  std::vector<std::string> lines;
  const auto handler = LogAndDrop([&lines](std::string_view line) { lines.emplace_back(line); });
  EXPECT_TRUE(
      handler->Handle(FailedTask(Queue(), nullptr, "refused", Failure(Code::kInternal, "root")))
          .ok());
  ASSERT_EQ(lines.size(), 1U);
  for (const std::string part : {"cloudtasks", "queues/webhooks", "refused", "root"}) {
    EXPECT_NE(lines[0].find(part), std::string::npos) << part;
  }
  EXPECT_FALSE(handler->fails_job());
}

class RecordingQueue : public DeadLetterQueue {
 public:
  RecordingQueue(std::vector<std::string>& calls, Status offer)
      : calls_(calls), offer_(std::move(offer)) {}
  Status Open(const HandlerContext& context) override {
    calls_.push_back(fmt::format("open {}", context.subtask_index));
    return {};
  }
  Status Offer(const FailedTask& failed) override {
    calls_.push_back("offer " + failed.message());
    return offer_;
  }
  Status Flush() override {
    calls_.emplace_back("flush");
    return {};
  }
  Status Close() override {
    calls_.emplace_back("close");
    return {};
  }

 private:
  std::vector<std::string>& calls_;
  Status offer_;
};

TEST(DeadLetterHandler, C47_C48_C49_ForwardsEverythingAndFailuresToo) {
  std::vector<std::string> calls;
  const auto handler =
      SendToDeadLetterQueue(std::make_unique<RecordingQueue>(calls, Unavailable("no topic")));
  EXPECT_TRUE(handler->Open({.subtask_index = 3, .metrics = nullptr}).ok());
  EXPECT_EQ(handler->Handle(FailedTask(Queue(), nullptr, "m", std::nullopt)),
            Unavailable("no topic"));
  EXPECT_TRUE(handler->Flush().ok());
  EXPECT_TRUE(handler->Close().ok());
  EXPECT_EQ(calls, (std::vector<std::string>{"open 3", "offer m", "flush", "close"}));
}

}  // namespace
}  // namespace sluice::sink
