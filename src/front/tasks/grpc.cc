// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/grpc.h"

#include "front/grpc_call.h"
#include "google/cloud/location/locations.grpc.pb.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.grpc.pb.h"

namespace sluice::front {
namespace {

/// `Async` is the generated service of `Api`, whose methods bear these names.
template <typename Api, typename Async>
class TasksGrpc final : public GrpcUnaryService<Async> {
 public:
  explicit TasksGrpc(TasksService<Api>* service) {
#define SLUICE_RPC(method) this->Add(&Async::Request##method, service, &TasksService<Api>::method)
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
    this->Add(&Async::RequestCreateTask, service, &TasksService<Api>::CreateTask,
              kListeningCreates);
  }

 private:
  static constexpr int kListeningCreates = 32;
};

using AsyncLocations = location::Locations::AsyncService;

class LocationsGrpc final : public GrpcUnaryService<AsyncLocations> {
 public:
  explicit LocationsGrpc(LocationsService* service) {
    Add(&AsyncLocations::RequestListLocations, service, &LocationsService::ListLocations);
    Add(&AsyncLocations::RequestGetLocation, service, &LocationsService::GetLocation);
  }
};

}  // namespace

std::unique_ptr<net::GrpcService> MakeTasksGrpc(TasksServiceV2* service) {
  return std::make_unique<TasksGrpc<ApiV2, tasks_v2::CloudTasks::AsyncService>>(service);
}

std::unique_ptr<net::GrpcService> MakeTasksGrpc(TasksServiceV2Beta3* service) {
  return std::make_unique<TasksGrpc<ApiV2Beta3, tasks_v2beta3::CloudTasks::AsyncService>>(service);
}

std::unique_ptr<net::GrpcService> MakeLocationsGrpc(LocationsService* service) {
  return std::make_unique<LocationsGrpc>(service);
}

}  // namespace sluice::front
