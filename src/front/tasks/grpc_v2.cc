// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/grpc_v2.h"

#include "front/grpc_call.h"
#include "front/tasks/service_v2.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace sluice::front {
namespace {

using AsyncService = tasks_v2::CloudTasks::AsyncService;

class TasksGrpcV2 final : public GrpcUnaryService<AsyncService> {
 public:
  explicit TasksGrpcV2(TasksServiceV2* service) {
#define SLUICE_RPC(method) Add(&AsyncService::Request##method, service, &TasksServiceV2::method)
    SLUICE_RPC(ListQueues);
    SLUICE_RPC(GetQueue);
    SLUICE_RPC(CreateQueue);
    SLUICE_RPC(UpdateQueue);
    SLUICE_RPC(DeleteQueue);
    SLUICE_RPC(PurgeQueue);
    SLUICE_RPC(PauseQueue);
    SLUICE_RPC(ResumeQueue);
    SLUICE_RPC(GetIamPolicy);
    SLUICE_RPC(SetIamPolicy);
    SLUICE_RPC(TestIamPermissions);
    SLUICE_RPC(ListTasks);
    SLUICE_RPC(GetTask);
    SLUICE_RPC(BatchCreateTasks);
    SLUICE_RPC(DeleteTask);
    SLUICE_RPC(BatchDeleteTasks);
    SLUICE_RPC(RunTask);
    SLUICE_RPC(UpdateCmekConfig);
    SLUICE_RPC(GetCmekConfig);
#undef SLUICE_RPC
    Add(&AsyncService::RequestCreateTask, service, &TasksServiceV2::CreateTask, kListeningCreates);
  }

 private:
  static constexpr int kListeningCreates = 32;
};

}  // namespace

std::unique_ptr<net::GrpcService> MakeTasksGrpcV2(TasksServiceV2* service) {
  return std::make_unique<TasksGrpcV2>(service);
}

}  // namespace sluice::front
