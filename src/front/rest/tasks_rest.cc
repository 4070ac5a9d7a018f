// SPDX-License-Identifier: Apache-2.0
#include "front/rest/tasks_rest.h"

namespace sluice::front {
namespace {

template <typename Api>
void AddAll(TasksService<Api>* service, RestApi* api) {
  const google::protobuf::ServiceDescriptor* descriptor =
      Api::CreateTaskRequest::descriptor()->file()->FindServiceByName("CloudTasks");
  SLUICE_CHECK(descriptor != nullptr, "the service lies in the file of its requests");
#define SLUICE_REST(name) api->Add(*descriptor, #name, service, &TasksService<Api>::name)
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

}  // namespace

void AddTasks(TasksServiceV2* service, RestApi* api) { AddAll(service, api); }
void AddTasks(TasksServiceV2Beta3* service, RestApi* api) { AddAll(service, api); }

void AddLocations(LocationsService* service, RestApi* api) {
  for (const std::string_view version : {ApiV2::kVersion, ApiV2Beta3::kVersion}) {
    api->AddGet(fmt::format("/{}/{{name=projects/*}}/locations", version), service,
                &LocationsService::ListLocations);
    api->AddGet(fmt::format("/{}/{{name=projects/*/locations/*}}", version), service,
                &LocationsService::GetLocation);
  }
}

}  // namespace sluice::front
