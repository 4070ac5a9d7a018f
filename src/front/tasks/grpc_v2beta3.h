// SPDX-License-Identifier: Apache-2.0
#pragma once

// google.cloud.tasks.v2beta3.CloudTasks over gRPC, as far as it is served.
// Threading and ownership as grpc_v2.h.

#include <memory>

#include "front/net/grpc_queue.h"

namespace sluice::front {

class TasksServiceV2Beta3;

/// `service` must outlive the server that the result is registered with.
[[nodiscard]] std::unique_ptr<net::GrpcService> MakeTasksGrpcV2Beta3(TasksServiceV2Beta3* service);

}  // namespace sluice::front
