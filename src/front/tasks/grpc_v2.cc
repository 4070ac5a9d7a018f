// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/grpc_v2.h"

#include "front/arena_messages.h"
#include "front/grpc_call.h"
#include "front/tasks/service_v2.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace sluice::front {
namespace {

using google::protobuf::Empty;

class TasksGrpcV2 final : public tasks_v2::CloudTasks::CallbackService {
 public:
  explicit TasksGrpcV2(TasksServiceV2* service) : service_(service) {
    SetMessageAllocatorFor_CreateTask(&create_task_messages_);
  }

#define SLUICE_RPC(method, Request, Response)                                                    \
  grpc::ServerUnaryReactor* method(grpc::CallbackServerContext* context, const Request* request, \
                                   Response* response) override {                                \
    return StartUnary(service_, &TasksServiceV2::method, context, request, response);            \
  }
  SLUICE_RPC(ListQueues, tasks_v2::ListQueuesRequest, tasks_v2::ListQueuesResponse)
  SLUICE_RPC(GetQueue, tasks_v2::GetQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(CreateQueue, tasks_v2::CreateQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(UpdateQueue, tasks_v2::UpdateQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(DeleteQueue, tasks_v2::DeleteQueueRequest, Empty)
  SLUICE_RPC(PurgeQueue, tasks_v2::PurgeQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(PauseQueue, tasks_v2::PauseQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(ResumeQueue, tasks_v2::ResumeQueueRequest, tasks_v2::Queue)
  SLUICE_RPC(GetIamPolicy, google::iam::v1::GetIamPolicyRequest, google::iam::v1::Policy)
  SLUICE_RPC(SetIamPolicy, google::iam::v1::SetIamPolicyRequest, google::iam::v1::Policy)
  SLUICE_RPC(TestIamPermissions, google::iam::v1::TestIamPermissionsRequest,
             google::iam::v1::TestIamPermissionsResponse)
  SLUICE_RPC(ListTasks, tasks_v2::ListTasksRequest, tasks_v2::ListTasksResponse)
  SLUICE_RPC(GetTask, tasks_v2::GetTaskRequest, tasks_v2::Task)
  SLUICE_RPC(CreateTask, tasks_v2::CreateTaskRequest, tasks_v2::Task)
  SLUICE_RPC(BatchCreateTasks, tasks_v2::BatchCreateTasksRequest, google::longrunning::Operation)
  SLUICE_RPC(DeleteTask, tasks_v2::DeleteTaskRequest, Empty)
  SLUICE_RPC(BatchDeleteTasks, tasks_v2::BatchDeleteTasksRequest, google::longrunning::Operation)
  SLUICE_RPC(RunTask, tasks_v2::RunTaskRequest, tasks_v2::Task)
  SLUICE_RPC(UpdateCmekConfig, tasks_v2::UpdateCmekConfigRequest, tasks_v2::CmekConfig)
  SLUICE_RPC(GetCmekConfig, tasks_v2::GetCmekConfigRequest, tasks_v2::CmekConfig)
#undef SLUICE_RPC

 private:
  TasksServiceV2* const service_;
  ArenaMessages<tasks_v2::CreateTaskRequest, tasks_v2::Task> create_task_messages_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTasksGrpcV2(TasksServiceV2* service) {
  return std::make_unique<TasksGrpcV2>(service);
}

}  // namespace sluice::front
