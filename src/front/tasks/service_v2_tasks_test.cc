// SPDX-License-Identifier: Apache-2.0

// The task methods of v2 over the real state machine. Numbers in brackets are
// those of the acceptance list, ../shared/spec: cloud tasks section 9.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "front/errors.h"
#include "front/tasks/testing/service_fixture.h"
#include "google/rpc/error_details.pb.h"

namespace sluice::front::testing {
namespace {

class ServiceV2Tasks : public ServiceV2Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateQueue("q").ok());
    // Tasks stay where they are until a test resumes the queue.
    ASSERT_TRUE(Invoke(&TasksServiceV2::PauseQueue, fmt::format("name: '{}'", kQueue)).ok());
  }

  Outcome<v2::ListTasksResponse> List(const std::string& rest = {}) {
    return Invoke(&TasksServiceV2::ListTasks, fmt::format("parent: '{}' {}", kQueue, rest));
  }

  static google::rpc::ResourceInfo ResourceOf(const Status& status) {
    google::rpc::ResourceInfo info;
    const google::rpc::Status shown = ToRpcStatus(status);
    for (const google::protobuf::Any& detail : shown.details()) {
      if (detail.Is<google::rpc::ResourceInfo>()) detail.UnpackTo(&info);
    }
    return info;
  }

  std::int64_t now_seconds() { return absl::ToUnixSeconds(engine_.harness().now()); }
};

TEST_F(ServiceV2Tasks, AUrlAloneMakesATask) {  // [49]
  const auto task = CreateTask();
  ASSERT_TRUE(task.ok()) << Message(task.status);
  EXPECT_TRUE(task->name().starts_with(std::string(kQueue) + "/tasks/"));
  EXPECT_EQ(task->http_request().http_method(), v2::POST);
  EXPECT_EQ(task->http_request().headers().at("User-Agent"), "Google-Cloud-Tasks");
  EXPECT_EQ(task->dispatch_deadline().seconds(), 600);
  EXPECT_EQ(task->create_time().seconds(), now_seconds());
  EXPECT_EQ(task->create_time().nanos(), 0);
  EXPECT_EQ(task->schedule_time().seconds(), now_seconds());
  EXPECT_EQ(task->dispatch_count(), 0);
  EXPECT_EQ(task->response_count(), 0);
  EXPECT_EQ(task->view(), v2::Task::BASIC);
}

TEST_F(ServiceV2Tasks, GeneratedIdsAreUniqueAndWithinTheGrammar) {  // [50]
  constexpr int kTasks = 2000;
  engine_.StopSettling();
  std::set<std::string> names;
  for (int i = 0; i < kTasks; ++i) {
    const auto task = CreateTask();
    ASSERT_TRUE(task.ok());
    ASSERT_TRUE(TaskName::Parse(task->name()).ok()) << task->name();
    names.insert(task->name());
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kTasks));
}

TEST_F(ServiceV2Tasks, ANameIsTakenOnce) {  // [51] [53]
  const std::string id = std::string(250, '_') + std::string(250, '-');
  ASSERT_TRUE(CreateTask(TaskNameField(id) + " schedule_time { seconds: 2000000100 }").ok());
  const auto again = CreateTask(TaskNameField(id) + " schedule_time { seconds: 2000000200 }");
  EXPECT_TRUE(absl::IsAlreadyExists(again.status));
  EXPECT_EQ(ResourceOf(again.status).resource_type(), "cloudtasks.googleapis.com/Task");
  EXPECT_EQ(ResourceOf(again.status).resource_name(), std::string(kQueue) + "/tasks/" + id);
  const auto stored = Invoke(&TasksServiceV2::GetTask, TaskNameField(id));
  EXPECT_EQ(stored->schedule_time().seconds(), 2000000100);
}

TEST_F(ServiceV2Tasks, WrongNamesComeWithAHelpLink) {  // [51] [52]
  for (const char* name :
       {"projects/p/locations/l/queues/q/tasks/a b", "projects/p/locations/l/queues/q/tasks/"}) {
    const auto task = CreateTask(fmt::format("name: '{}'", name));
    EXPECT_TRUE(absl::IsInvalidArgument(task.status)) << name;
    google::rpc::Help help;
    ASSERT_TRUE(ToRpcStatus(task.status).details(1).UnpackTo(&help)) << name;
    EXPECT_NE(help.links(0).url().find("Task.FIELDS.name"), std::string::npos);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      CreateTask("name: 'projects/p/locations/l/queues/other/tasks/a'").status));
}

TEST_F(ServiceV2Tasks, AQueueMustExist) {  // [31] [56]
  const auto task = Invoke(&TasksServiceV2::CreateTask,
                           std::string("parent: 'projects/p/locations/l/queues/none' "
                                       "task { http_request { url: 'http://h/' } }"));
  EXPECT_TRUE(absl::IsNotFound(task.status));
  EXPECT_EQ(ResourceOf(task.status).resource_name(), "projects/p/locations/l/queues/none");
  EXPECT_EQ(ResourceOf(task.status).resource_type(), "cloudtasks.googleapis.com/Queue");
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::ListTasks,
                                      std::string("parent: 'projects/p/locations/l/queues/none'"))
                                   .status));
}

TEST_F(ServiceV2Tasks, ATaskAndItsTargetAreRequired) {  // [57]
  const auto create = [this](const std::string& task) {
    return Invoke(&TasksServiceV2::CreateTask, fmt::format("parent: '{}' {}", kQueue, task)).status;
  };
  EXPECT_TRUE(absl::IsInvalidArgument(create("")));
  EXPECT_TRUE(absl::IsInvalidArgument(create("task {}")));
}

TEST_F(ServiceV2Tasks, ScheduleTimesReachThirtyDaysAhead) {  // [62]
  const auto create = [this](std::int64_t seconds) {
    return CreateTask(fmt::format("schedule_time {{ seconds: {} nanos: 1999 }}", seconds));
  };
  constexpr std::int64_t kDay = 86'400;
  EXPECT_TRUE(absl::IsInvalidArgument(create(now_seconds() + 30 * kDay + 3600).status));
  const auto ahead = create(now_seconds() + 29 * kDay);
  ASSERT_TRUE(ahead.ok());
  EXPECT_EQ(ahead->schedule_time().seconds(), now_seconds() + 29 * kDay);
  EXPECT_EQ(ahead->schedule_time().nanos(), 1000);
  EXPECT_EQ(create(now_seconds() - 3600)->schedule_time().seconds(), now_seconds());
}

TEST_F(ServiceV2Tasks, TheLargestTaskIsStored) {  // [63]
  const auto create = [this](std::size_t body_bytes) {
    v2::CreateTaskRequest request;
    request.set_parent(std::string(kQueue));
    v2::Task& task = *request.mutable_task();
    task.mutable_http_request()->set_url("http://h/");
    task.mutable_http_request()->set_body(std::string(body_bytes, 'b'));
    task.mutable_schedule_time()->set_seconds(now_seconds() + 60);
    request.set_response_view(v2::Task::FULL);
    return Invoke(&TasksServiceV2::CreateTask, std::move(request));
  };
  constexpr std::size_t kBody = 1'000'000;
  v2::Task stored = create(kBody).response;
  stored.clear_view();
  const std::size_t largest = kBody + kTaskBytesMax - stored.ByteSizeLong();
  EXPECT_TRUE(create(largest).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(create(largest + 1).status));
}

TEST_F(ServiceV2Tasks, ViewsDecideAboutTheBody) {  // [68]
  const std::string target = "body: 'payload' headers { key: 'X-A' value: '1' }";
  const auto expect_basic = [](const v2::Task& shown) {
    EXPECT_EQ(shown.http_request().body(), "");
    EXPECT_EQ(shown.http_request().headers().at("X-A"), "1");
    EXPECT_EQ(shown.view(), v2::Task::BASIC);
  };
  const auto expect_full = [](const v2::Task& shown) {
    EXPECT_EQ(shown.http_request().body(), "payload");
    EXPECT_EQ(shown.view(), v2::Task::FULL);
  };
  expect_basic(CreateTask(TaskNameField("t"), target).response);
  expect_full(CreateTask("", target, "response_view: FULL").response);
  const std::string name = TaskNameField("t");
  expect_basic(Invoke(&TasksServiceV2::GetTask, name).response);
  expect_full(Invoke(&TasksServiceV2::GetTask, name + " response_view: FULL").response);
  expect_basic(List()->tasks(0));
  expect_full(List("response_view: FULL")->tasks(0));
  expect_full(Invoke(&TasksServiceV2::RunTask, name + " response_view: FULL").response);
}

TEST_F(ServiceV2Tasks, UnknownTasksAreNotFound) {  // [74]
  const std::string name = TaskNameField("none");
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::GetTask, name).status));
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::RunTask, name).status));
  const auto deleted = Invoke(&TasksServiceV2::DeleteTask, name);
  EXPECT_TRUE(absl::IsNotFound(deleted.status));
  EXPECT_EQ(ResourceOf(deleted.status).resource_type(), "cloudtasks.googleapis.com/Task");
  for (const char* bad : {"name: ''", "name: 'projects/p/locations/l/queues/q'"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::GetTask, bad).status));
    EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::RunTask, bad).status));
    EXPECT_TRUE(absl::IsInvalidArgument(Invoke(&TasksServiceV2::DeleteTask, bad).status));
  }
}

TEST_F(ServiceV2Tasks, ADeletedTaskKeepsItsNameForAWhile) {  // [55] [71]
  ASSERT_TRUE(CreateTask(TaskNameField("t")).ok());
  EXPECT_TRUE(Invoke(&TasksServiceV2::DeleteTask, TaskNameField("t")).ok());
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::GetTask, TaskNameField("t")).status));
  EXPECT_TRUE(absl::IsAlreadyExists(CreateTask(TaskNameField("t")).status));
  engine_.harness().RunFor(absl::Hours(1) + absl::Seconds(1));
  EXPECT_TRUE(CreateTask(TaskNameField("t")).ok());
}

TEST_F(ServiceV2Tasks, RunTaskSendsAtOnceAndShowsTheStart) {  // [75] [77]
  ASSERT_TRUE(CreateTask(TaskNameField("t") +
                         fmt::format(" schedule_time {{ seconds: {} }}", now_seconds() + 86'400))
                  .ok());
  const auto run = Invoke(&TasksServiceV2::RunTask, TaskNameField("t"));
  ASSERT_TRUE(run.ok()) << Message(run.status);
  EXPECT_EQ(run->dispatch_count(), 1);
  EXPECT_TRUE(run->first_attempt().has_dispatch_time());
  EXPECT_TRUE(run->last_attempt().has_dispatch_time());
  EXPECT_FALSE(run->last_attempt().has_response_time());
  ASSERT_EQ(engine_.harness().open().size(), 1u);
  engine_.harness().RespondFirst(200);
  EXPECT_TRUE(absl::IsNotFound(Invoke(&TasksServiceV2::GetTask, TaskNameField("t")).status));
}

TEST_F(ServiceV2Tasks, AFailedAttemptIsShown) {  // [94]
  ASSERT_TRUE(CreateTask(TaskNameField("t")).ok());
  ASSERT_TRUE(Invoke(&TasksServiceV2::RunTask, TaskNameField("t")).ok());
  engine_.harness().RespondFirst(503);
  const auto task = Invoke(&TasksServiceV2::GetTask, TaskNameField("t"));
  ASSERT_TRUE(task.ok());
  EXPECT_FALSE(task->first_attempt().has_response_time());
  EXPECT_TRUE(task->last_attempt().has_response_time());
  EXPECT_NE(task->last_attempt().response_status().code(), 0);
  EXPECT_EQ(task->response_count(), 1);
}

TEST_F(ServiceV2Tasks, PagesCoverEveryTaskOnce) {  // [30]
  constexpr int kTasks = 2500;
  engine_.StopSettling();
  for (int i = 0; i < kTasks; ++i) ASSERT_TRUE(CreateTask().ok());
  std::set<std::string> names;
  std::string token;
  int pages = 0;
  do {
    const auto page = List(fmt::format("page_token: '{}'", token));
    ASSERT_TRUE(page.ok()) << Message(page.status);
    EXPECT_LE(page->tasks_size(), kTasksPageMax);
    for (const v2::Task& task : page->tasks()) EXPECT_TRUE(names.insert(task.name()).second);
    token = page->next_page_token();
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kTasks));
  EXPECT_TRUE(absl::IsInvalidArgument(List("page_size: -1").status));
}

TEST_F(ServiceV2Tasks, APageOfLargeTasksEndsBeforeClientsRefuseIt) {
  constexpr int kTasks = 5;
  for (int i = 0; i < kTasks; ++i) {
    ASSERT_TRUE(CreateTask("", fmt::format("body: '{}'", std::string(900'000, 'b'))).ok());
  }
  constexpr std::size_t kClientLimit = 4u << 20;
  int seen = 0;
  std::string token;
  do {
    const auto page = List(fmt::format("response_view: FULL page_token: '{}'", token));
    ASSERT_TRUE(page.ok());
    ASSERT_GT(page->tasks_size(), 0);
    EXPECT_LT(page->ByteSizeLong(), kClientLimit);
    seen += page->tasks_size();
    token = page->next_page_token();
  } while (!token.empty());
  EXPECT_EQ(seen, kTasks);
  EXPECT_EQ(List()->tasks_size(), kTasks);  // without bodies they fit
}

TEST_F(ServiceV2Tasks, ATasksOwnRetrySettingsAreCompletedFromTheQueue) {
  ASSERT_TRUE(UpdateQueue("retry_config { max_attempts: 7 min_backoff { seconds: 2 } }", "").ok());
  const auto task = CreateTask("retry_config { max_attempts: 2 }");
  ASSERT_TRUE(task.ok()) << Message(task.status);
  EXPECT_EQ(task->retry_config().max_attempts(), 2);
  EXPECT_EQ(task->retry_config().min_backoff().seconds(), 2);
  EXPECT_EQ(task->retry_config().max_doublings(), 16);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateTask("retry_config { max_attempts: -2 }").status));
  // Below the queue's min_backoff of 2 s.
  EXPECT_TRUE(
      absl::IsInvalidArgument(CreateTask("retry_config { max_backoff { seconds: 1 } }").status));
}

TEST_F(ServiceV2Tasks, CompleteRetrySettingsNeedNoQuestion) {
  const std::size_t before = engine_.command_count();
  ASSERT_TRUE(CreateTask("retry_config { max_attempts: 2 max_doublings: 1 "
                         "max_retry_duration { seconds: 9 } min_backoff { seconds: 1 } "
                         "max_backoff { seconds: 3 } }")
                  .ok());
  EXPECT_EQ(engine_.command_count(), before + 1);
}

TEST_F(ServiceV2Tasks, ATaskWithRetrySettingsNeedsItsQueueToo) {
  const auto task = Invoke(&TasksServiceV2::CreateTask,
                           std::string("parent: 'projects/p/locations/l/queues/none' "
                                       "task { http_request { url: 'http://h/' } "
                                       "retry_config { max_attempts: 2 } }"));
  EXPECT_TRUE(absl::IsNotFound(task.status));
}

}  // namespace
}  // namespace sluice::front::testing
