// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/grpc_v2beta3.h"

#include "front/grpc_call.h"
#include "front/tasks/service_v2beta3.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h"

namespace sluice::front {
namespace {

namespace v2beta3 = google::cloud::tasks::v2beta3;

// Methods of the plain service are answered with UNIMPLEMENTED by gRPC.
using AsyncService = v2beta3::CloudTasks::WithAsyncMethod_GetQueue<v2beta3::CloudTasks::Service>;

class TasksGrpcV2Beta3 final : public GrpcUnaryService<AsyncService> {
 public:
  explicit TasksGrpcV2Beta3(TasksServiceV2Beta3* service) {
    Add(&AsyncService::RequestGetQueue, service, &TasksServiceV2Beta3::GetQueue);
  }
};

}  // namespace

std::unique_ptr<net::GrpcService> MakeTasksGrpcV2Beta3(TasksServiceV2Beta3* service) {
  return std::make_unique<TasksGrpcV2Beta3>(service);
}

}  // namespace sluice::front
