// SPDX-License-Identifier: Apache-2.0
#include "front/rest/tasks_v2_rest.h"

#include "front/tasks/service_v2.h"
#include "front/tasks/service_v2beta3.h"

namespace sluice::front {

void AddTasksV2(TasksServiceV2* service, RestApi* api) {
  const google::protobuf::ServiceDescriptor* descriptor =
      tasks_v2::CreateTaskRequest::descriptor()->file()->FindServiceByName("CloudTasks");
  SLUICE_CHECK(descriptor != nullptr, "the service lies in the file of its requests");
#define SLUICE_REST(name) api->Add(*descriptor, #name, service, &TasksServiceV2::name)
  SLUICE_REST(ListQueues);
  SLUICE_REST(GetQueue);
  SLUICE_REST(CreateQueue);
  SLUICE_REST(UpdateQueue);
  SLUICE_REST(DeleteQueue);
  SLUICE_REST(PurgeQueue);
  SLUICE_REST(PauseQueue);
  SLUICE_REST(ResumeQueue);
  SLUICE_REST(GetIamPolicy);
  SLUICE_REST(SetIamPolicy);
  SLUICE_REST(TestIamPermissions);
  SLUICE_REST(ListTasks);
  SLUICE_REST(GetTask);
  SLUICE_REST(CreateTask);
  SLUICE_REST(BatchCreateTasks);
  SLUICE_REST(DeleteTask);
  SLUICE_REST(BatchDeleteTasks);
  SLUICE_REST(RunTask);
  SLUICE_REST(UpdateCmekConfig);
  SLUICE_REST(GetCmekConfig);
#undef SLUICE_REST
}

void AddTasksV2Beta3(TasksServiceV2Beta3* service, RestApi* api) {
  const google::protobuf::ServiceDescriptor* descriptor =
      google::cloud::tasks::v2beta3::GetQueueRequest::descriptor()->file()->FindServiceByName(
          "CloudTasks");
  SLUICE_CHECK(descriptor != nullptr, "the service lies in the file of its requests");
  api->Add(*descriptor, "GetQueue", service, &TasksServiceV2Beta3::GetQueue);
}

}  // namespace sluice::front
