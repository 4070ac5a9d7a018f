// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/task_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "google/protobuf/text_format.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;

constexpr std::string_view kQueueName = "projects/p/locations/l/queues/q";
const Time kNow = absl::FromUnixSeconds(1'800'000'000);

v2::Task TaskOf(const std::string& text) {
  v2::Task task;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &task)) << text;
  return task;
}

StatusOr<core::NewTask> Decode(v2::Task task) {
  return DecodeNewTask(task, QueueName::Parse(kQueueName).value(), kQueueName);
}

StatusOr<core::NewTask> Decode(const std::string& text) { return Decode(TaskOf(text)); }

StatusOr<core::NewTask> DecodeWithUrl(const std::string& rest) {
  return Decode("http_request { url: 'http://h/' } " + rest);
}

TEST(TaskCodec, AUrlAloneMakesATask) {
  const core::NewTask task = Decode("http_request { url: 'http://h/' }").value();
  EXPECT_EQ(task.task_id, "");
  EXPECT_FALSE(task.schedule_time.has_value());
  EXPECT_EQ(task.dispatch_deadline, absl::Minutes(10));
  EXPECT_EQ(task.request.method, core::HttpMethod::kPost);
  EXPECT_EQ(task.request.url, "http://h/");
  EXPECT_EQ(task.request.body, "");
  ASSERT_EQ(task.request.headers.size(), 1u);
  EXPECT_EQ(task.request.headers[0], (core::Header{"User-Agent", "Google-Cloud-Tasks"}));
}

TEST(TaskCodec, EveryFieldIsTaken) {
  const core::NewTask task = Decode(R"pb(
                               name: "projects/p/locations/l/queues/q/tasks/my_Task-1"
                               http_request {
                                 url: "https://h/x"
                                 http_method: PATCH
                                 headers { key: "X-A" value: "1" }
                                 body: "\000\377"
                               }
                               schedule_time { seconds: 1800000100 nanos: 123456789 }
                               dispatch_deadline { seconds: 15 nanos: 1999999 }
                             )pb")
                                 .value();
  EXPECT_EQ(task.task_id, "my_Task-1");
  EXPECT_EQ(task.schedule_time, absl::FromUnixMicros(1'800'000'100'123'456));
  EXPECT_EQ(task.dispatch_deadline, absl::Milliseconds(15'001));
  EXPECT_EQ(task.request.method, core::HttpMethod::kPatch);
  EXPECT_EQ(task.request.body, std::string("\0\xFF", 2));
  EXPECT_EQ(task.request.headers.size(), 2u);
}

TEST(TaskCodec, OutputOnlyFieldsAreIgnored) {
  const auto task = DecodeWithUrl(
      "create_time { seconds: 1 } dispatch_count: 9 response_count: 9 view: FULL "
      "first_attempt { dispatch_time { seconds: 1 } } last_attempt { dispatch_time { seconds: 1 } "
      "}");
  EXPECT_TRUE(task.ok()) << Message(task.status());
}

TEST(TaskCodec, NamesMustBeTaskNamesOfTheQueue) {
  EXPECT_TRUE(
      DecodeWithUrl("name: '" + std::string(kQueueName) + "/tasks/" + std::string(500, 'a') + "'")
          .ok());
  for (const std::string& name :
       {std::string(kQueueName) + "/tasks/", std::string(kQueueName) + "/tasks/a b",
        std::string(kQueueName) + "/tasks/" + std::string(501, 'a'),
        "x" + std::string(kQueueName) + "/tasks/a", std::string(kQueueName) + "/tasks/a/x",
        std::string("a")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeWithUrl("name: '" + name + "'").status())) << name;
  }
  const Status other =
      DecodeWithUrl("name: 'projects/p/locations/l/queues/other/tasks/a'").status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_NE(Message(other).find(kQueueName), std::string_view::npos);
  EXPECT_NE(Message(other).find("queues/other"), std::string_view::npos);
}

TEST(TaskCodec, ATaskNeedsATarget) {
  EXPECT_TRUE(absl::IsInvalidArgument(Decode("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Decode("http_request {}").status()));
}

TEST(TaskCodec, MethodsAndBodiesMustFit) {
  EXPECT_TRUE(Decode("http_request { url: 'http://h/' http_method: PUT body: 'x' }").ok());
  EXPECT_FALSE(Decode("http_request { url: 'http://h/' http_method: GET body: 'x' }").ok());
  v2::Task task = TaskOf("http_request { url: 'http://h/' }");
  task.mutable_http_request()->set_http_method(static_cast<v2::HttpMethod>(99));
  EXPECT_TRUE(absl::IsInvalidArgument(Decode(task).status()));
  for (int method = v2::HttpMethod_MIN; method <= v2::HttpMethod_MAX; ++method) {
    task.mutable_http_request()->set_http_method(static_cast<v2::HttpMethod>(method));
    const core::NewTask decoded = Decode(task).value();
    v2::Task out;
    EncodeTarget(decoded.request, TaskView::kFull, &out);
    EXPECT_EQ(out.http_request().http_method(), method == 0 ? v2::POST : method);
  }
}

TEST(TaskCodec, DispatchDeadlinesHaveBounds) {
  EXPECT_TRUE(DecodeWithUrl("dispatch_deadline { seconds: 15 }").ok());
  EXPECT_TRUE(DecodeWithUrl("dispatch_deadline { seconds: 1800 }").ok());
  for (const char* deadline :
       {"seconds: 14", "seconds: 14 nanos: 999999999", "", "seconds: -20", "seconds: 1800 nanos: 1",
        "seconds: 1801", "seconds: 20 nanos: -1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        DecodeWithUrl(fmt::format("dispatch_deadline {{ {} }}", deadline)).status()))
        << deadline;
  }
}

TEST(TaskCodec, ScheduleTimesMustBeTimes) {
  for (const char* time :
       {"seconds: 253402300800", "seconds: -62135596801", "nanos: 1000000000", "nanos: -1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        DecodeWithUrl(fmt::format("schedule_time {{ {} }}", time)).status()))
        << time;
  }
}

TEST(TaskCodec, AppEngineTasksMayTakeADayAndLeaveTheDeadlineToTheService) {  // [61]
  const auto decode = [](const std::string& rest) {
    return Decode("app_engine_http_request {} " + rest);
  };
  EXPECT_EQ(decode("")->dispatch_deadline, absl::ZeroDuration());
  EXPECT_EQ(decode("dispatch_deadline {}")->dispatch_deadline, absl::ZeroDuration());
  for (const int seconds : {15, 3600, 86415}) {
    EXPECT_EQ(
        decode(fmt::format("dispatch_deadline {{ seconds: {} }}", seconds))->dispatch_deadline,
        absl::Seconds(seconds));
  }
  for (const int seconds : {-1, 14, 86416}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        decode(fmt::format("dispatch_deadline {{ seconds: {} }}", seconds)).status()))
        << seconds;
  }
}

// The task as the core stores it.
core::Task StoredTask(const core::NewTask& task) {
  auto body = std::make_shared<core::TaskBody>();
  body->sequence = 1;
  body->task_id = task.task_id.empty() ? "1234567890123456789" : task.task_id;
  body->create_time = kNow + absl::Microseconds(999'999);
  body->schedule_time = task.schedule_time.value_or(kNow);
  body->dispatch_deadline = task.dispatch_deadline;
  body->request = task.request;
  body->retry = task.retry;
  core::Task stored;
  stored.progress.schedule_time = body->schedule_time;
  stored.body = std::move(body);
  return stored;
}

v2::Task Encode(const core::Task& task, TaskView view) {
  v2::Task out;
  EncodeTask(FullTaskName(kQueueName, task.body->task_id), task, view, &out);
  return out;
}

TEST(TaskCodec, ANewTaskIsShownAsStored) {
  core::Task task = StoredTask(
      Decode("http_request { url: 'http://h/' body: 'secret' headers { key: 'X-A' value: '1' } }")
          .value());
  task.progress.schedule_time = kNow + absl::Microseconds(1);
  const std::string expected_basic = R"pb(
    name: "projects/p/locations/l/queues/q/tasks/1234567890123456789"
    http_request {
      url: "http://h/"
      http_method: POST
      headers { key: "User-Agent" value: "Google-Cloud-Tasks" }
      headers { key: "X-A" value: "1" }
    }
    schedule_time { seconds: 1800000000 nanos: 1000 }
    create_time { seconds: 1800000000 }
    dispatch_deadline { seconds: 600 }
    view: BASIC
  )pb";
  const v2::Task basic = Encode(task, TaskView::kBasic);
  EXPECT_EQ(basic.DebugString(), TaskOf(expected_basic).DebugString());
  const v2::Task full = Encode(task, TaskView::kFull);
  EXPECT_EQ(full.http_request().body(), "secret");
  EXPECT_EQ(full.view(), v2::Task::FULL);
  EXPECT_EQ(full.http_request().headers_size(), 2);
}

TEST(TaskCodec, AttemptsAreShownAsFarAsTheyGot) {
  core::Task task = StoredTask(DecodeWithUrl("").value());
  task.progress.dispatch_count = 2;
  task.progress.response_count = 1;
  task.progress.first_dispatch_time = kNow;
  core::Attempt attempt;
  attempt.schedule_time = kNow + absl::Seconds(1);
  attempt.dispatch_time = kNow + absl::Seconds(2);
  task.progress.last_attempt = attempt;
  v2::Task out = Encode(task, TaskView::kBasic);
  EXPECT_EQ(out.dispatch_count(), 2);
  EXPECT_EQ(out.response_count(), 1);
  EXPECT_TRUE(out.first_attempt().has_dispatch_time());
  EXPECT_FALSE(out.first_attempt().has_schedule_time());
  EXPECT_TRUE(out.last_attempt().has_schedule_time());
  EXPECT_FALSE(out.last_attempt().has_response_time());
  EXPECT_FALSE(out.last_attempt().has_response_status());

  task.progress.last_attempt->response_time = kNow + absl::Seconds(3);
  task.progress.last_attempt->status = {14, "UNAVAILABLE(14): HTTP status code 503"};
  out = Encode(task, TaskView::kBasic);
  EXPECT_EQ(out.last_attempt().response_time().seconds(), 1'800'000'003);
  EXPECT_EQ(out.last_attempt().response_status().code(), 14);
}

TEST(TaskCodec, ATasksOwnRetrySettingsAreShown) {
  core::NewTask task = DecodeWithUrl("").value();
  EXPECT_FALSE(Encode(StoredTask(task), TaskView::kBasic).has_retry_config());
  task.retry = core::RetryConfig{};
  task.retry->max_attempts = 2;
  EXPECT_EQ(Encode(StoredTask(task), TaskView::kBasic).retry_config().max_attempts(), 2);
}

TEST(TaskCodec, TheSizeLimitIsThatOfTheStoredMessage) {
  for (const std::string rest : {"schedule_time { seconds: 1800000500 }", "",
                                 "name: 'projects/p/locations/l/queues/q/tasks/a'"}) {
    core::NewTask task = DecodeWithUrl(rest).value();
    task.request.body.assign(kTaskBytesMax - 1000, 'b');
    EXPECT_TRUE(IsTaskSizeNear(task, kQueueName));
    // What the limit is about: the stored task, without the view.
    core::Task stored = StoredTask(task);
    if (!task.schedule_time) stored.progress.schedule_time = kNow + absl::Microseconds(999'999);
    v2::Task canonical = Encode(stored, TaskView::kFull);
    canonical.clear_view();
    const std::size_t spare = kTaskBytesMax - canonical.ByteSizeLong();
    task.request.body.append(spare, 'b');
    EXPECT_TRUE(CheckTaskSize(task, kQueueName, kNow).ok()) << rest;
    task.request.body += 'b';
    const Status status = CheckTaskSize(task, kQueueName, kNow);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << rest;
    EXPECT_NE(Message(status).find("1048570"), std::string_view::npos) << Message(status);
  }
}

TEST(TaskCodec, SmallTasksAreNotMeasured) {
  core::NewTask task = DecodeWithUrl("").value();
  task.request.body.assign(kTaskBytesMax - 4000, 'b');
  EXPECT_FALSE(IsTaskSizeNear(task, kQueueName));
  // 100 headers with empty values: their framing counts.
  for (int i = 0; i < 200; ++i) task.request.headers.push_back({fmt::format("X-{}", i), ""});
  EXPECT_TRUE(IsTaskSizeNear(task, kQueueName));
}

TEST(TaskCodec, ViewsAreKnownOrRefused) {
  EXPECT_EQ(DecodeView(v2::Task::VIEW_UNSPECIFIED).value(), TaskView::kBasic);
  EXPECT_EQ(DecodeView(v2::Task::BASIC).value(), TaskView::kBasic);
  EXPECT_EQ(DecodeView(v2::Task::FULL).value(), TaskView::kFull);
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeView(static_cast<v2::Task::View>(7)).status()));
}

}  // namespace
}  // namespace sluice::front
