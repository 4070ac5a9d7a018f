// SPDX-License-Identifier: Apache-2.0
// Checklist 12.9 (123-142) and 12.11 (161-171); CNNN in a name is the line it covers.
#include "eager_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/writer_harness.h"

namespace sluice::sink {
namespace {

using namespace std::chrono_literals;
using testing::FailsWith;
using testing::QueueNamed;
using testing::WriterHarness;
using Code = absl::StatusCode;

const std::string kQueue = "projects/my-project/locations/asia-northeast1/queues/webhooks";

class EagerWriterTest : public ::testing::Test, public WriterHarness {};

TEST_F(EagerWriterTest, C123_RecordsBecomeRequestsInOrder) {
  ASSERT_TRUE(Write("a").ok());
  ASSERT_TRUE(Write("b").ok());
  ASSERT_TRUE(Flush().ok());
  ASSERT_EQ(sent(), 2U);
  EXPECT_EQ(creator->requests[0].parent(), kQueue);
  EXPECT_EQ(creator->requests[0].task().http_request().body(), "a");
  EXPECT_EQ(creator->requests[1].task().http_request().body(), "b");
  EXPECT_EQ(writer->in_flight(), 0);
}

TEST_F(EagerWriterTest, C124_ResolverRoutesEachRecord) {
  mapper.resolve = [](const std::string& record) { return QueueNamed(record.substr(0, 1)); };
  ASSERT_TRUE(Write("a1").ok() && Write("b1").ok() && Write("a2").ok() && Flush().ok());
  EXPECT_TRUE(creator->requests[0].parent().ends_with("/queues/a"));
  EXPECT_TRUE(creator->requests[1].parent().ends_with("/queues/b"));
  EXPECT_TRUE(creator->requests[2].parent().ends_with("/queues/a"));
}

TEST_F(EagerWriterTest, C125_NamesAreHashedKeys) {
  HashKeys();
  ASSERT_TRUE(Write("order-1").ok() && Write("order-1").ok() && Write("order-2").ok());
  const std::string first =
      kQueue + "/tasks/0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057";
  EXPECT_EQ(creator->requests[0].task().name(), first);
  EXPECT_EQ(creator->requests[1].task().name(), first);
  EXPECT_NE(creator->requests[2].task().name(), first);
  EXPECT_EQ(creator->requests[2].task().name().size(), first.size());
}

TEST_F(EagerWriterTest, C126_WithoutAnExtractorTasksAreUnnamed) {
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(creator->requests[0].task().name(), "");
}

TEST_F(EagerWriterTest, C127_C164_AlreadyExistsOfANamedTaskIsSuccess) {
  HashKeys();
  creator->Fail(Code::kAlreadyExists);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(Metric("tasksDeduplicated"), 1);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 0);
  EXPECT_EQ(metrics.Sample("errorClass.ALREADY_EXISTS.errors"), std::nullopt);
}

TEST_F(EagerWriterTest, C128_AlreadyExistsOfAnUnnamedTaskFailsTheJob) {
  creator->Fail(Code::kAlreadyExists);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(FailsWith(Flush(), "carries no name"));
}

TEST_F(EagerWriterTest, C129_TransientFailuresAreRetriedUnchanged) {
  options.set_recovery_max_attempts(3);
  creator->Fail(Code::kUnavailable);
  creator->Fail(Code::kResourceExhausted);
  ASSERT_TRUE(Write("a").ok());
  ASSERT_TRUE(Flush().ok());
  ASSERT_EQ(sent(), 3U);
  EXPECT_EQ(creator->requests[0].SerializeAsString(), creator->requests[1].SerializeAsString());
  EXPECT_EQ(creator->requests[0].SerializeAsString(), creator->requests[2].SerializeAsString());
  EXPECT_GT(mailbox->slept, 0ns);
}

TEST_F(EagerWriterTest, C130_LostAnswerOfANamedTaskEndsInDeduplication) {
  HashKeys();
  creator->Fail(Code::kDeadlineExceeded);
  creator->Fail(Code::kAlreadyExists);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  ASSERT_EQ(sent(), 2U);
  EXPECT_EQ(creator->requests[0].task().name(), creator->requests[1].task().name());
}

TEST_F(EagerWriterTest, C131_TransientBudgetEnds) {
  options.set_recovery_max_attempts(2);
  creator->Fail(Code::kDeadlineExceeded);
  creator->Fail(Code::kDeadlineExceeded);
  ASSERT_TRUE(Write("a").ok());
  const Status flushed = Flush();
  EXPECT_TRUE(FailsWith(flushed, "DEADLINE_EXCEEDED"));
  EXPECT_TRUE(FailsWith(flushed, "2 attempt(s)"));
  EXPECT_EQ(sent(), 2U);
}

TEST_F(EagerWriterTest, C132_NotFoundHasItsOwnBudgetAndSchedule) {
  options.set_recovery_max_attempts(20).set_not_found_recovery_max_attempts(2);
  creator->Fail(Code::kNotFound);
  creator->Fail(Code::kNotFound);
  ASSERT_TRUE(Write("a").ok());
  const Status flushed = Flush();
  EXPECT_TRUE(FailsWith(flushed, "NOT_FOUND"));
  EXPECT_TRUE(FailsWith(flushed, "2 attempt(s)"));
  EXPECT_EQ(sent(), 2U);
  EXPECT_GE(mailbox->slept, 375ms);
  EXPECT_LE(mailbox->slept, 625ms);
}

TEST_F(EagerWriterTest, BudgetsInterleaveWithoutUsingEachOtherUp) {
  options.set_recovery_max_attempts(2).set_not_found_recovery_max_attempts(2);
  creator->Fail(Code::kNotFound);
  creator->Fail(Code::kUnavailable);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  EXPECT_EQ(sent(), 3U);
}

TEST_F(EagerWriterTest, C133_InvalidArgumentUnderFailJobFailsTheFlush) {
  creator->Fail(Code::kInvalidArgument);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(FailsWith(Flush(), "INVALID_ARGUMENT"));
  EXPECT_EQ(sent(), 1U);
}

TEST_F(EagerWriterTest, C134_FatalAnswerFailsTheNextWrite) {
  creator->Fail(Code::kPermissionDenied);
  ASSERT_TRUE(Write("a").ok());
  mailbox->RunAll();
  EXPECT_TRUE(FailsWith(Write("b"), "PERMISSION_DENIED"));
  EXPECT_EQ(sent(), 1U);
}

TEST_F(EagerWriterTest, C135_BoundIsKeptByWaitingForACompletion) {
  options.set_max_in_flight_tasks(2);
  for (int i = 0; i < 3; ++i) creator->Hold();
  ASSERT_TRUE(Write("a").ok() && Write("b").ok());
  Answer(0, std::nullopt);
  ASSERT_TRUE(Write("c").ok());
  EXPECT_EQ(sent(), 3U);
  EXPECT_EQ(writer->in_flight(), 2);
}

TEST_F(EagerWriterTest, C136_ParkedCreatesCountInTheBound) {
  options.set_max_in_flight_tasks(1);
  creator->Fail(Code::kUnavailable);
  ASSERT_TRUE(Write("a").ok());
  mailbox->RunAll();
  EXPECT_EQ(writer->in_flight(), 0);
  EXPECT_EQ(writer->parked(), 1);
  ASSERT_TRUE(Write("b").ok());
  ASSERT_EQ(sent(), 3U);
  EXPECT_EQ(creator->requests[1].task().http_request().body(), "a");
  EXPECT_EQ(creator->requests[2].task().http_request().body(), "b");
  EXPECT_EQ(writer->parked(), 0);
  EXPECT_GT(mailbox->slept, 0ns);
}

TEST_F(EagerWriterTest, C137_FlushDrainsParkedCreates) {
  creator->Fail(Code::kUnavailable);
  ASSERT_TRUE(Write("a").ok());
  mailbox->RunAll();
  ASSERT_TRUE(writer->Flush(true).ok());
  EXPECT_EQ(writer->parked(), 0);
  EXPECT_EQ(writer->in_flight(), 0);
  EXPECT_EQ(sent(), 2U);
}

TEST_F(EagerWriterTest, DueCreatesAreSentBeforeTheNewRecord) {
  creator->Fail(Code::kUnavailable);
  ASSERT_TRUE(Write("a").ok());
  mailbox->RunAll();
  clock.now += 1s;
  ASSERT_TRUE(Write("b").ok());
  ASSERT_EQ(sent(), 3U);
  EXPECT_EQ(creator->requests[1].task().http_request().body(), "a");
}

TEST_F(EagerWriterTest, C138_NullQueueFailsTheJobAlsoForASkippedRecord) {
  mapper.resolve = [](const std::string&) { return std::nullopt; };
  mapper.serialize = [](const std::string&, auto&) { return false; };
  EXPECT_TRUE(FailsWith(Write("a"), "returned null"));
}

TEST_F(EagerWriterTest, C139_NamedTaskFromTheSerializerFailsTheJob) {
  mapper.serialize = [](const std::string&, auto& task) {
    task.set_name("mine");
    return true;
  };
  const Status written = Write("a");
  EXPECT_TRUE(FailsWith(written, "already named"));
  EXPECT_TRUE(FailsWith(written, "\"mine\""));
}

TEST_F(EagerWriterTest, C140_EmptyKeyFailsTheJob) {
  HashKeys();
  EXPECT_TRUE(FailsWith(Write(""), "empty key"));
}

TEST_F(EagerWriterTest, C141_SerializerErrorUnderFailJobKeepsTheRootCause) {
  mapper.serialize = [](const std::string&, auto&) -> StatusOr<bool> { return Internal("odd"); };
  const Status written = Write("a");
  EXPECT_TRUE(FailsWith(written, "could not be serialized"));
  EXPECT_TRUE(FailsWith(written, "odd"));
}

TEST_F(EagerWriterTest, C142_ClosesTheCreatorOnceAndIgnoresLateAnswers) {
  creator->Hold();
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_EQ(creator->closed, 1);
  EXPECT_TRUE(FailsWith(Write("b"), "closed"));
  writer.reset();
  Answer(0, Failure(Code::kInternal, "late"));
  mailbox->RunAll();
  EXPECT_EQ(creator->closed, 1);
}

TEST_F(EagerWriterTest, C161_CountsRecordsAndBytes) {
  ASSERT_TRUE(Write("a").ok() && Write("bb").ok() && Flush().ok());
  EXPECT_EQ(Metric("numRecordsSend"), 2);
  EXPECT_EQ(Metric("numBytesSend"),
            static_cast<std::int64_t>(creator->requests[0].task().ByteSizeLong() +
                                      creator->requests[1].task().ByteSizeLong()));
  EXPECT_EQ(Metric("numRecordsSendErrors"), 0);
}

TEST_F(EagerWriterTest, C162_C165_RetriesCountAsErrorsOfTheirClassOnly) {
  creator->Fail(Code::kUnavailable);
  creator->Fail(Code::kUnavailable);
  ASSERT_TRUE(Write("a").ok() && Flush().ok());
  EXPECT_EQ(sent(), 3U);
  EXPECT_EQ(Metric("numRecordsSend"), 1);
  EXPECT_EQ(Metric("numBytesSend"),
            static_cast<std::int64_t>(creator->requests[0].task().ByteSizeLong()));
  EXPECT_EQ(Metric("errorClass.UNAVAILABLE.errors"), 2);
  creator->Fail(Code::kDeadlineExceeded);
  creator->Fail(Code::kDeadlineExceeded);
  ASSERT_TRUE(Write("b").ok() && Flush().ok());
  EXPECT_EQ(Metric("errorClass.DEADLINE_EXCEEDED.errors"), 2);
  EXPECT_EQ(Metric("numRecordsSend"), 2);
}

TEST_F(EagerWriterTest, C163_GaugesFollowInFlightAndParked) {
  creator->Hold();
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(Metric("inFlightTasks"), 1);
  EXPECT_EQ(Metric("parkedTasks"), 0);
  Answer(0, Failure(Code::kUnavailable, "down"));
  mailbox->RunAll();
  EXPECT_EQ(Metric("inFlightTasks"), 0);
  EXPECT_EQ(Metric("parkedTasks"), 1);
  ASSERT_TRUE(Flush().ok());
  EXPECT_EQ(Metric("parkedTasks"), 0);
}

TEST_F(EagerWriterTest, C167_CallThatCannotStartFailsTheWriteWithoutAMetric) {
  creator->Throw();
  EXPECT_TRUE(FailsWith(Write("a"), kQueue));
  EXPECT_EQ(Metric("numRecordsSend"), 0);
  EXPECT_EQ(Metric("numBytesSend"), 0);
  EXPECT_EQ(writer->in_flight(), 0);
}

TEST_F(EagerWriterTest, C169_CountersPerDestinationOnlyWhenAskedFor) {
  Record();
  options.set_per_destination_metrics(true);
  mapper.resolve = [](const std::string& record) { return QueueNamed(record); };
  creator->Fail(Code::kInvalidArgument);
  ASSERT_TRUE(Write("A").ok() && Write("B").ok() && Flush().ok());
  const std::string prefix = "destination.projects/my-project/locations/asia-northeast1/queues/";
  EXPECT_EQ(Metric(prefix + "A.recordsSend"), 1);
  EXPECT_EQ(Metric(prefix + "A.sendErrors"), 1);
  EXPECT_EQ(Metric(prefix + "B.recordsSend"), 1);
  EXPECT_EQ(Metric(prefix + "B.sendErrors"), 0);
}

TEST_F(EagerWriterTest, C169_C171_NoOtherNamesAreRegistered) {
  ASSERT_TRUE(Write("a").ok() && Flush().ok());
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.SampleAll()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"inFlightTasks", "numBytesSend", "numRecordsSend",
                                             "numRecordsSendErrors", "parkedTasks",
                                             "recordsSkipped", "tasksDeduplicated"}));
}

}  // namespace
}  // namespace sluice::sink
