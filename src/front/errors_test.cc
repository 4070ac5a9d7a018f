// SPDX-License-Identifier: Apache-2.0
#include "front/errors.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "front/call_gate.h"
#include "front/errors_grpc.h"
#include "google/rpc/code.pb.h"
#include "google/rpc/error_details.pb.h"

namespace sluice::front {
namespace {

template <typename Detail>
Detail DetailOf(const Status& status) {
  Detail detail;
  const google::rpc::Status shown = ToRpcStatus(status);
  for (const google::protobuf::Any& any : shown.details()) {
    if (any.Is<Detail>()) any.UnpackTo(&detail);
  }
  return detail;
}

TEST(Errors, EveryCodeHasItsPublishedNameAndHttpStatus) {
  // google/rpc/code.proto names the HTTP status of each code in a comment.
  const std::map<std::string, int> expected = {
      {"OK", 200},
      {"CANCELLED", 499},
      {"UNKNOWN", 500},
      {"INVALID_ARGUMENT", 400},
      {"DEADLINE_EXCEEDED", 504},
      {"NOT_FOUND", 404},
      {"ALREADY_EXISTS", 409},
      {"PERMISSION_DENIED", 403},
      {"UNAUTHENTICATED", 401},
      {"RESOURCE_EXHAUSTED", 429},
      {"FAILED_PRECONDITION", 400},
      {"ABORTED", 409},
      {"OUT_OF_RANGE", 400},
      {"UNIMPLEMENTED", 501},
      {"INTERNAL", 500},
      {"UNAVAILABLE", 503},
      {"DATA_LOSS", 500},
  };
  const google::protobuf::EnumDescriptor& published = *google::rpc::Code_descriptor();
  ASSERT_EQ(static_cast<std::size_t>(published.value_count()), expected.size());
  for (int i = 0; i < published.value_count(); ++i) {
    const auto code = static_cast<absl::StatusCode>(published.value(i)->number());
    EXPECT_EQ(NameOf(code), published.value(i)->name());
    EXPECT_EQ(HttpStatusOf(code), expected.at(published.value(i)->name()));
  }
}

TEST(Errors, UnknownCodeIsShownAsUnknown) {
  const auto code = static_cast<absl::StatusCode>(4711);
  EXPECT_EQ(NameOf(code), "UNKNOWN");
  EXPECT_EQ(HttpStatusOf(code), 500);
}

TEST(Errors, DetailsTravelInsideTheStatus) {
  Status status = NotFound("queue {} does not exist", "q");
  AddResourceInfo(&status, "cloudtasks.googleapis.com/Queue", "q");
  AddErrorInfo(&status, "QUEUE_MISSING", "sluice");
  AddHelp(&status, "Definition of queue name", "https://example.com/name");
  const google::rpc::Status shown = ToRpcStatus(status);
  EXPECT_EQ(shown.code(), google::rpc::NOT_FOUND);
  EXPECT_EQ(shown.message(), "queue q does not exist");
  ASSERT_EQ(shown.details_size(), 3);
  // The order does not depend on the order of adding.
  EXPECT_EQ(shown.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(shown.details(1).type_url(), "type.googleapis.com/google.rpc.Help");
  EXPECT_EQ(shown.details(2).type_url(), "type.googleapis.com/google.rpc.ResourceInfo");
  EXPECT_EQ(DetailOf<google::rpc::ResourceInfo>(status).resource_name(), "q");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).reason(), "QUEUE_MISSING");
  EXPECT_EQ(DetailOf<google::rpc::Help>(status).links(0).url(), "https://example.com/name");
}

TEST(Errors, FieldViolationsAddUp) {
  Status status = AtField("task.name", InvalidArgument("the name is bad"));
  AddFieldViolation(&status, "task.http_request.url", "so is the URL");
  const auto bad_request = DetailOf<google::rpc::BadRequest>(status);
  ASSERT_EQ(bad_request.field_violations_size(), 2);
  EXPECT_EQ(bad_request.field_violations(0).field(), "task.name");
  EXPECT_EQ(bad_request.field_violations(0).description(), "the name is bad");
  EXPECT_EQ(bad_request.field_violations(1).field(), "task.http_request.url");
}

TEST(Errors, OkHasNoDetails) {
  Status status;
  AddHelp(&status, "help", "https://example.com");
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(ToRpcStatus(status).details_size(), 0);
}

TEST(Errors, LongMessagesAreCutToWhatATrailerCarries) {
  const Status status = InvalidArgument("{}", std::string(100'000, 'x'));
  EXPECT_EQ(ToRpcStatus(status).message().size(), kErrorMessageBytesMax);
}

TEST(Errors, MessagesAreValidUtf8WhateverTheyQuote) {
  EXPECT_EQ(ShownMessage(InvalidArgument("caf\u00e9 \u20ac \U0001F600")),
            "caf\u00e9 \u20ac \U0001F600");
  EXPECT_EQ(ShownMessage(InvalidArgument("cut \xE2\x82")), "cut ??");
  EXPECT_EQ(ShownMessage(InvalidArgument("overlong \xC0\xAF")), "overlong ??");
  EXPECT_EQ(ShownMessage(InvalidArgument("surrogate \xED\xA0\x80")), "surrogate ???");
  EXPECT_EQ(ShownMessage(InvalidArgument("beyond \xF4\x90\x80\x80")), "beyond ????");
}

TEST(Errors, GrpcCarriesDetailsInTheTrailer) {
  const Status status = AtField("name", InvalidArgument("bad"));
  const grpc::Status shown = ToGrpcStatus(status);
  EXPECT_EQ(shown.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(shown.error_message(), "bad");
  google::rpc::Status trailer;
  ASSERT_TRUE(trailer.ParseFromString(shown.error_details()));
  EXPECT_EQ(trailer.code(), google::rpc::INVALID_ARGUMENT);
  EXPECT_EQ(trailer.message(), "bad");
  EXPECT_EQ(trailer.details_size(), 1);
}

TEST(Errors, GrpcSendsNoTrailerWithoutDetails) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  const grpc::Status shown = ToGrpcStatus(Unavailable("stopping"));
  EXPECT_EQ(shown.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(shown.error_details(), "");
}

TEST(Errors, OnlyADroppedCallIsADroppedCall) {
  EXPECT_TRUE(IsDropCall(DropCall()));
  EXPECT_FALSE(IsDropCall(Cancelled("by the client")));
  EXPECT_FALSE(IsDropCall(absl::OkStatus()));
}

}  // namespace
}  // namespace sluice::front
