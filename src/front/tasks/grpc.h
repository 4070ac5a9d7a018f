// SPDX-License-Identifier: Apache-2.0
#pragma once

// CloudTasks of both versions and Locations over gRPC: hands every call to the service object
// and its outcome back. No thread waits for the engine.
//
// Threading: as front/grpc_call.h.

#include <memory>

#include "front/net/grpc_queue.h"
#include "front/tasks/locations.h"
#include "front/tasks/service.h"

namespace sluice::front {

/// `service` must outlive the server that the result is registered with.
[[nodiscard]] std::unique_ptr<net::GrpcService> MakeTasksGrpc(TasksServiceV2* service);
[[nodiscard]] std::unique_ptr<net::GrpcService> MakeTasksGrpc(TasksServiceV2Beta3* service);
[[nodiscard]] std::unique_ptr<net::GrpcService> MakeLocationsGrpc(LocationsService* service);

}  // namespace sluice::front
