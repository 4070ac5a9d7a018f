// SPDX-License-Identifier: Apache-2.0
#pragma once

// gRPC's half of errors.h: a status of ours as grpc::Status. Apart, because
// gRPC's headers are slow to compile.
//
// Threading: pure function, any thread.

#include "base/status.h"
#include "grpcpp/support/status.h"

namespace sluice::front {

/// Code and message; the trailer with google.rpc.Status only where there are details.
[[nodiscard]] grpc::Status ToGrpcStatus(const Status& status);

}  // namespace sluice::front
