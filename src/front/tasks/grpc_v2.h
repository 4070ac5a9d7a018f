// SPDX-License-Identifier: Apache-2.0
#pragma once

// google.cloud.tasks.v2.CloudTasks over gRPC: hands every call to the service
// object and its outcome back. No thread waits for the engine.
//
// Threading: as front/grpc_call.h.

#include <memory>

#include "front/net/grpc_queue.h"

namespace sluice::front {

class TasksServiceV2;

/// `service` must outlive the server that the result is registered with.
[[nodiscard]] std::unique_ptr<net::GrpcService> MakeTasksGrpcV2(TasksServiceV2* service);

}  // namespace sluice::front
