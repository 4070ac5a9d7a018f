// SPDX-License-Identifier: Apache-2.0
#pragma once

// google.cloud.tasks.v2.CloudTasks over gRPC: hands every call to the service
// object and its outcome back. Callback API, so no thread waits for the engine.
//
// Threading: gRPC calls in from its threads; calls finish on the engine's lane.

#include <memory>

namespace grpc {
class Service;
}

namespace sluice::front {

class TasksServiceV2;

/// `service` must outlive the server that the result is registered with.
[[nodiscard]] std::unique_ptr<grpc::Service> MakeTasksGrpcV2(TasksServiceV2* service);

}  // namespace sluice::front
