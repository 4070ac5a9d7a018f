// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/grpc_v2beta3.h"

#include "front/grpc_call.h"
#include "front/tasks/service_v2beta3.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h"

namespace sluice::front {
namespace {

namespace v2beta3 = google::cloud::tasks::v2beta3;

// A method that is not overridden is answered with UNIMPLEMENTED by gRPC.
class TasksGrpcV2Beta3 final : public v2beta3::CloudTasks::CallbackService {
 public:
  explicit TasksGrpcV2Beta3(TasksServiceV2Beta3* service) : service_(service) {}

  grpc::ServerUnaryReactor* GetQueue(grpc::CallbackServerContext* context,
                                     const v2beta3::GetQueueRequest* request,
                                     v2beta3::Queue* response) override {
    return StartUnary(service_, &TasksServiceV2Beta3::GetQueue, context, request, response);
  }

 private:
  TasksServiceV2Beta3* const service_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTasksGrpcV2Beta3(TasksServiceV2Beta3* service) {
  return std::make_unique<TasksGrpcV2Beta3>(service);
}

}  // namespace sluice::front
