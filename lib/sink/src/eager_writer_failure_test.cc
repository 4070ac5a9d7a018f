// SPDX-License-Identifier: Apache-2.0
// Checklist 12.10 (143-160), 166, 168, 170 and the creation order of 172-176.
#include <gtest/gtest.h>

#include <string>

#include "testing/writer_harness.h"

namespace sluice::sink {
namespace {

using testing::FailsWith;
using testing::RecordingHandler;
using testing::ScriptedCreator;
using testing::ScriptedMapper;
using testing::WriterHarness;
using Calls = std::vector<std::string>;
using Code = absl::StatusCode;

class EagerWriterFailureTest : public ::testing::Test, public WriterHarness {
 protected:
  EagerWriterFailureTest() { Record(); }

  EagerWriterParts Parts(int subtask = 0) {
    return {std::make_unique<ScriptedMapper>(mapper), std::make_unique<RecordingHandler>(log),
            [this]() -> StatusOr<std::unique_ptr<TaskCreator>> {
              return std::make_unique<ScriptedCreator>(creator);
            },
            *options.Build(), Host(subtask)};
  }
  void FailSerializer() {
    mapper.serialize = [](const std::string&, auto&) -> StatusOr<bool> { return Internal("odd"); };
  }
};

TEST_F(EagerWriterFailureTest, C143_C166_SerializerErrorGoesToTheHandlerWithoutATask) {
  FailSerializer();
  ASSERT_TRUE(Write("a").ok());
  ASSERT_EQ(log->elements.size(), 1U);
  EXPECT_TRUE(log->elements[0].queue.ends_with("/queues/webhooks"));
  EXPECT_FALSE(log->elements[0].task.has_value());
  EXPECT_EQ(log->elements[0].message, "record could not be serialized");
  EXPECT_EQ(log->elements[0].cause->ToString(), "INTERNAL odd");
  EXPECT_EQ(sent(), 0U);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 1);
  EXPECT_EQ(Metric("numRecordsSend"), 0);
}

TEST_F(EagerWriterFailureTest, C144_SkippedRecordIsNoFailure) {
  mapper.serialize = [](const std::string& record, auto&) { return record != "skip"; };
  ASSERT_TRUE(Write("skip").ok() && Write("a").ok() && Flush().ok());
  EXPECT_EQ(sent(), 1U);
  EXPECT_TRUE(log->elements.empty());
  EXPECT_EQ(Metric("numRecordsSend"), 1);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 0);
  EXPECT_EQ(Metric("recordsSkipped"), 1);
}

TEST_F(EagerWriterFailureTest, SkippedRecordWaitsForNoSlot) {
  options.set_max_in_flight_tasks(1);
  mapper.serialize = [](const std::string& record, auto&) { return record != "skip"; };
  creator->Hold();
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Write("skip").ok());  // would abort if it waited: nothing ever completes
}

TEST_F(EagerWriterFailureTest, C145_C166_ExtractorErrorGoesToTheHandlerWithTheUnnamedTask) {
  mapper.key = [](const std::string&) -> StatusOr<std::optional<std::string>> {
    return Internal("no id");
  };
  ASSERT_TRUE(Write("a").ok());
  ASSERT_EQ(log->elements.size(), 1U);
  ASSERT_TRUE(log->elements[0].task.has_value());
  EXPECT_EQ(log->elements[0].task->name(), "");
  EXPECT_EQ(log->elements[0].task->http_request().body(), "a");
  EXPECT_EQ(log->elements[0].cause->ToString(), "INTERNAL no id");
  EXPECT_EQ(sent(), 0U);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 1);
}

TEST_F(EagerWriterFailureTest, C146_BrokenContractsFailTheJobAndAreNotRouted) {
  mapper.key = [](const std::string& record) -> StatusOr<std::optional<std::string>> {
    return record == "null" ? std::nullopt : std::optional<std::string>(record);
  };
  const Status null_key = Write("null");
  EXPECT_TRUE(FailsWith(null_key, "returned null"));
  EXPECT_TRUE(FailsWith(null_key, "deduplication"));
  EXPECT_FALSE(Write("").ok());
  EXPECT_TRUE(log->calls.empty());
  EXPECT_EQ(sent(), 0U);
}

TEST_F(EagerWriterFailureTest, C147_C168_InvalidArgumentIsRouted) {
  creator->Fail(Code::kInvalidArgument, "bad url");
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  ASSERT_EQ(log->elements.size(), 1U);
  EXPECT_EQ(log->elements[0].task->http_request().body(), "a");
  EXPECT_NE(log->elements[0].message.find("INVALID_ARGUMENT"), std::string::npos);
  EXPECT_EQ(sent(), 1U);
  EXPECT_EQ(writer->parked(), 0);
  EXPECT_EQ(Metric("numRecordsSend"), 1);
  EXPECT_EQ(Metric("numRecordsSendErrors"), 1);
  EXPECT_EQ(Metric("errorClass.INVALID_ARGUMENT.errors"), 1);
}

TEST_F(EagerWriterFailureTest, C148_TransientCauseUnderInvalidArgumentIsNotRouted) {
  options.set_recovery_max_attempts(1);
  creator->Fail(Failure(Code::kUnavailable, "down").WrappedIn("bad", Code::kInvalidArgument));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(FailsWith(Flush(), "UNAVAILABLE after 1 attempt(s)"));
  EXPECT_TRUE(log->elements.empty());
}

TEST_F(EagerWriterFailureTest, C149_TransientCauseUnderInternalIsRetried) {
  options.set_recovery_max_attempts(2);
  creator->Fail(Failure(Code::kUnavailable, "down").WrappedIn("odd", Code::kInternal));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  EXPECT_EQ(sent(), 2U);
  EXPECT_TRUE(log->elements.empty());
  EXPECT_EQ(Metric("errorClass.INTERNAL.errors"), 1);
}

TEST_F(EagerWriterFailureTest, C150_InvalidArgumentUnderInternalFailsTheJob) {
  creator->Fail(Failure(Code::kInvalidArgument, "bad").WrappedIn("odd", Code::kInternal));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(FailsWith(Flush(), "INTERNAL"));
  EXPECT_TRUE(log->elements.empty());
}

TEST_F(EagerWriterFailureTest, C151_WrapperWithoutACodeIsLookedThrough) {
  creator->Fail(Failure(Code::kInvalidArgument, "bad").WrappedIn("wrapper"));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(Flush().ok());
  EXPECT_EQ(log->elements.size(), 1U);
}

TEST_F(EagerWriterFailureTest, C152_ExhaustedBudgetsAndDenialsAreNeverRouted) {
  for (const Code code : {Code::kUnavailable, Code::kNotFound, Code::kPermissionDenied}) {
    writer.reset();
    Record();
    options.set_recovery_max_attempts(2).set_not_found_recovery_max_attempts(2);
    creator->answers.clear();
    creator->Fail(code);
    creator->Fail(code);
    ASSERT_TRUE(Write("a").ok());
    EXPECT_TRUE(FailsWith(Flush(), StatusCodeName(code)));
  }
  EXPECT_TRUE(log->elements.empty());
}

TEST_F(EagerWriterFailureTest, UnclassifiedFailureFailsTheJobAndIsCounted) {
  creator->Fail(Failure(std::nullopt, "broken pipe"));
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(FailsWith(Flush(), "broken pipe"));
  EXPECT_EQ(Metric("errorClass.UNCLASSIFIED.errors"), 1);
}

TEST_F(EagerWriterFailureTest, C153_DeduplicationDoesNotTouchTheHandler) {
  HashKeys();
  creator->Fail(Failure(Code::kUnavailable, "x").WrappedIn("there", Code::kAlreadyExists));
  ASSERT_TRUE(Write("a").ok() && Flush().ok());
  EXPECT_EQ(log->calls, Calls{"flush"});
}

TEST_F(EagerWriterFailureTest, C154_RefusedRecordIsRoutedAlsoWhileTheJobFails) {
  creator->Hold();
  creator->Hold();
  ASSERT_TRUE(Write("a").ok() && Write("b").ok());
  Answer(0, Failure(Code::kPermissionDenied, "no"));
  Answer(1, Failure(Code::kInvalidArgument, "bad"));
  mailbox->RunAll();
  EXPECT_EQ(log->elements.size(), 1U);
  EXPECT_TRUE(FailsWith(Flush(), "PERMISSION_DENIED"));
  EXPECT_EQ(log->calls, Calls{"handle"});  // and a failed drain flushes no handler
}

TEST_F(EagerWriterFailureTest, FailingWriterSchedulesNoRetry) {
  creator->Hold();
  creator->Hold();
  ASSERT_TRUE(Write("a").ok() && Write("b").ok());
  Answer(0, Failure(Code::kPermissionDenied, "no"));
  Answer(1, Failure(Code::kUnavailable, "down"));
  mailbox->RunAll();
  EXPECT_EQ(writer->parked(), 0);
}

TEST_F(EagerWriterFailureTest, C155_HandlerIsFlushedAfterTheLastFailure) {
  creator->Fail(Code::kInvalidArgument);
  ASSERT_TRUE(Write("a").ok() && Flush().ok());
  EXPECT_EQ(log->calls, (Calls{"handle", "flush"}));
}

TEST_F(EagerWriterFailureTest, C156_RefusalOnTheSecondAttemptIsRouted) {
  creator->Fail(Code::kUnavailable);
  creator->Fail(Code::kInvalidArgument);
  ASSERT_TRUE(Write("a").ok() && Flush().ok());
  EXPECT_EQ(sent(), 2U);
  EXPECT_EQ(writer->parked(), 0);
  EXPECT_EQ(log->calls, (Calls{"handle", "flush"}));
}

TEST_F(EagerWriterFailureTest, C157_HandlerErrorFromAMailFailsTheFlushAsItIs) {
  log->answer = DataLoss("disk full");
  creator->Fail(Code::kInvalidArgument);
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(Flush(), DataLoss("disk full"));
}

TEST_F(EagerWriterFailureTest, C158_HandlerErrorDuringAWriteIsThatWritesError) {
  log->answer = DataLoss("disk full");
  FailSerializer();
  EXPECT_EQ(Write("a"), DataLoss("disk full"));
}

TEST_F(EagerWriterFailureTest, C159_BothAreClosedAndTheFirstErrorIsReported) {
  creator->close_status = Internal("stuck");
  ASSERT_TRUE(Write("a").ok());
  EXPECT_EQ(writer->Close(), Internal("stuck"));
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_EQ(creator->closed, 1);
  EXPECT_EQ(log->calls, Calls{"close"});
}

TEST_F(EagerWriterFailureTest, C160_ConstructedWriterOpensNoHandler) {
  ASSERT_TRUE(Write("a").ok());
  EXPECT_TRUE(log->calls.empty());
}

TEST_F(EagerWriterFailureTest, C170_C172_CreationOpensTheHandlerOnceWithTheWritersContext) {
  const auto made = OpenEagerWriter(Parts(5));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(log->calls, Calls{"open"});
  EXPECT_EQ(log->context.subtask_index, 5);
  EXPECT_EQ(log->context.metrics, &metrics);
  EXPECT_EQ(Metric("inFlightTasks"), 0);
  EXPECT_EQ(Metric("tasksDeduplicated"), 0);
}

TEST_F(EagerWriterFailureTest, C173_HandlerThatDoesNotOpenFailsCreationAsItIs) {
  log->open = NotFound("no topic");
  EXPECT_EQ(OpenEagerWriter(Parts()).status(), NotFound("no topic"));
}

TEST_F(EagerWriterFailureTest, C174_ClientThatCannotBeMadeClosesTheHandler) {
  auto parts = Parts();
  parts.make_creator = []() -> StatusOr<std::unique_ptr<TaskCreator>> {
    return InvalidArgument("key file");
  };
  EXPECT_EQ(OpenEagerWriter(std::move(parts)).status(), InvalidArgument("key file"));
  EXPECT_EQ(log->calls, (Calls{"open", "close"}));
}

TEST_F(EagerWriterFailureTest, C175_SerializerThatDoesNotOpenLeavesTheHandlerAlone) {
  mapper.open = Internal("odd");
  EXPECT_TRUE(FailsWith(OpenEagerWriter(Parts()).status(), "schema could not be opened"));
  EXPECT_TRUE(log->calls.empty());
}

}  // namespace
}  // namespace sluice::sink
