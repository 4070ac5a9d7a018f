// SPDX-License-Identifier: Apache-2.0

// Proves which headers leave with an attempt (acceptance 79-81, 83, 85, 86),
// without a socket.

#include "dispatch/request_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::dispatch {
namespace {

using testing::ElementsAre;
using testing::Pair;

const QueueName kQueue{{"project", "location"}, "my-queue"};
constexpr std::int64_t kScheduledUs = 1'700'000'000'000'042;

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::vector<core::Header> stored;
  core::TaskProgress progress;
  bool is_app_engine = false;
  std::vector<core::Header> overrides = {};
};

core::StartAttempt AttemptOf(const Case& sent) {
  auto body = std::make_shared<core::TaskBody>();
  body->task_id = "my-task";
  body->request.headers = sent.stored;
  if (sent.is_app_engine) body->request.app_engine.emplace();
  core::QueueTargets::Settings targets;
  targets.http.headers = sent.overrides;
  return {.queue = kQueue,
          .task = {std::move(body), sent.progress},
          .targets = core::QueueTargets(std::move(targets))};
}

Headers HeadersOf(const Case& sent) {
  HeaderLines lines;
  const Status status = AddAttemptHeaders(AttemptOf(sent), &lines);
  EXPECT_TRUE(status.ok()) << Message(status);
  Headers headers;
  for (std::size_t i = 0; i < lines.count(); ++i)
    headers.emplace_back(lines.Name(i), lines.Value(i));
  return headers;
}

core::TaskProgress ProgressAtAttempt(std::int32_t number) {
  core::TaskProgress progress;
  progress.dispatch_count = number;
  progress.schedule_time = FromMicros(kScheduledUs);
  progress.last_attempt = core::Attempt{.schedule_time = FromMicros(kScheduledUs)};
  return progress;
}

std::string ValueOf(const Headers& headers, std::string_view name) {
  for (const auto& [header, value] : headers) {
    if (header == name) return value;
  }
  return "absent";
}

TEST(RequestHeaders, TheFirstAttemptHasFiveServiceHeadersInExactCase) {
  EXPECT_THAT(HeadersOf({.progress = ProgressAtAttempt(1)}),
              ElementsAre(Pair("User-Agent", "Google-Cloud-Tasks"),
                          Pair("X-CloudTasks-QueueName", "my-queue"),
                          Pair("X-CloudTasks-TaskName", "my-task"),
                          Pair("X-CloudTasks-TaskRetryCount", "0"),
                          Pair("X-CloudTasks-TaskExecutionCount", "0"),
                          Pair("X-CloudTasks-TaskETA", "1700000000.000042")));
}

TEST(RequestHeaders, ARetryTellsOfThePreviousAttempt) {
  core::TaskProgress progress = ProgressAtAttempt(6);
  progress.execution_count = 3;
  progress.previous_response = 302;
  const Headers headers = HeadersOf({.progress = progress});
  EXPECT_EQ(headers.size(), 8u);
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskRetryCount"), "5");
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskExecutionCount"), "3");
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskPreviousResponse"), "302");
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskRetryReason"), "");
}

TEST(RequestHeaders, AfterATimeoutThePreviousResponseIs504) {
  core::TaskProgress progress = ProgressAtAttempt(2);
  progress.previous_response = 504;
  const Headers headers = HeadersOf({.progress = progress});
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskPreviousResponse"), "504");
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskExecutionCount"), "0");
}

TEST(RequestHeaders, AnAttemptLostInARestartLooksLikeAFailedConnection) {
  const Headers headers = HeadersOf({.progress = ProgressAtAttempt(2)});
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskPreviousResponse"), "503");
  EXPECT_EQ(ValueOf(headers, "X-CloudTasks-TaskRetryReason"), "");
}

TEST(RequestHeaders, EtaHasSixDecimalsAndIsThisAttemptsScheduleTime) {
  core::TaskProgress progress = ProgressAtAttempt(1);
  progress.last_attempt->schedule_time = absl::FromUnixSeconds(1'700'000'001);
  progress.schedule_time = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_EQ(ValueOf(HeadersOf({.progress = progress}), "X-CloudTasks-TaskETA"),
            "1700000001.000000");
}

TEST(RequestHeaders, UserHeadersKeepTheirCaseAndComeFirst) {
  const Headers headers =
      HeadersOf({.stored = {{"Authorization", "Bearer t"}, {"X-My-Header", "v"}, {"x-lower", ""}},
                 .progress = ProgressAtAttempt(1)});
  EXPECT_EQ(headers[0], std::make_pair(std::string("Authorization"), std::string("Bearer t")));
  EXPECT_EQ(headers[1], std::make_pair(std::string("X-My-Header"), std::string("v")));
  EXPECT_EQ(headers[2], std::make_pair(std::string("x-lower"), std::string()));
}

TEST(RequestHeaders, StoredServiceHeadersAreReplacedOrDropped) {
  const Headers headers = HeadersOf({.stored = {{"Connection", "close"},
                                                {"Content-Length", "7"},
                                                {"Host", "elsewhere"},
                                                {"Transfer-Encoding", "chunked"},
                                                {"User-Agent", "mine"},
                                                {"X-AppEngine-B", "1"},
                                                {"X-Google-A", "1"},
                                                {"user-agent", "mine too"},
                                                {"x-cloudtasks-taskname", "forged"}},
                                     .progress = ProgressAtAttempt(1)});
  EXPECT_EQ(headers, HeadersOf({.progress = ProgressAtAttempt(1)}));
}

TEST(RequestHeaders, AStoredHeaderThatMayNotBeSentFailsTheAttempt) {
  HeaderLines lines;
  const Status status =
      AddAttemptHeaders(AttemptOf({.stored = {{"X-A", "1\r\nX-CloudTasks-TaskName: forged"}},
                                   .progress = ProgressAtAttempt(1)}),
                        &lines);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(RequestHeaders, AQueuesHeaderReplacesTheTasksOrIsAdded) {  // [110]
  const Headers headers = HeadersOf({.stored = {{"X-Kept", "1"}, {"x-replaced", "2"}},
                                     .progress = ProgressAtAttempt(1),
                                     .overrides = {{"X-Replaced", "3"},
                                                   {"X-Added", "4"},
                                                   {"User-Agent", "forged"},
                                                   {"X-CloudTasks-TaskName", "forged"}}});
  const Headers callers(headers.begin(), headers.begin() + 3);
  EXPECT_EQ(callers, (Headers{{"X-Kept", "1"}, {"x-replaced", "3"}, {"X-Added", "4"}}));
  for (const auto& [name, value] : headers) EXPECT_NE(value, "forged") << name;
}

core::TaskProgress AppEngineProgress(std::int32_t number, std::int32_t responses,
                                     std::int32_t previous) {
  core::TaskProgress progress = ProgressAtAttempt(number);
  progress.response_count = responses;
  progress.previous_response = previous;
  return progress;
}

TEST(RequestHeaders, AnAppEngineTaskHasItsOwnFamilyOfHeaders) {  // [82]
  const std::vector<core::Header> stored = {{"Content-Length", "4"},
                                            {"Content-Type", "text/plain"},
                                            {"User-Agent", "mine AppEngine-Google; (x)"}};
  EXPECT_EQ(HeadersOf({.stored = stored,
                       .progress = AppEngineProgress(1, 0, 0),
                       .is_app_engine = true,
                       .overrides = {{"X-Added", "not for App Engine"}}}),
            (Headers{{"Content-Type", "text/plain"},
                     {"User-Agent", "mine AppEngine-Google; (x)"},
                     {"X-AppEngine-QueueName", "my-queue"},
                     {"X-AppEngine-TaskName", "my-task"},
                     {"X-AppEngine-TaskRetryCount", "0"},
                     {"X-AppEngine-TaskExecutionCount", "0"},
                     {"X-AppEngine-TaskETA", "1700000000.000042"}}));
}

TEST(RequestHeaders, AppEngineCountsEveryResponseAndNamesTheReason) {  // [82] [84]
  const Headers failed =
      HeadersOf({.progress = AppEngineProgress(4, 3, 503), .is_app_engine = true});
  const Headers told(failed.end() - 5, failed.end());
  EXPECT_EQ(told, (Headers{{"X-AppEngine-TaskRetryCount", "3"},
                           {"X-AppEngine-TaskExecutionCount", "3"},
                           {"X-AppEngine-TaskETA", "1700000000.000042"},
                           {"X-AppEngine-TaskPreviousResponse", "503"},
                           {"X-AppEngine-TaskRetryReason", "App Error"}}));
  const Headers silent = HeadersOf({.progress = AppEngineProgress(2, 0, 0), .is_app_engine = true});
  const Headers reason(silent.end() - 2, silent.end());
  EXPECT_EQ(reason, (Headers{{"X-AppEngine-TaskPreviousResponse", "0"},
                             {"X-AppEngine-TaskRetryReason", "Instance Unavailable"}}));
}

}  // namespace
}  // namespace sluice::dispatch
