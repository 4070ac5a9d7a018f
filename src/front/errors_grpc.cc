// SPDX-License-Identifier: Apache-2.0
#include "front/errors_grpc.h"

#include <string>

#include "front/errors.h"

namespace sluice::front {

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The numbers are the same: both come from google/rpc/code.proto.
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const google::rpc::Status rpc_status = ToRpcStatus(status);
  if (rpc_status.details().empty()) return {code, rpc_status.message()};
  return {code, rpc_status.message(), rpc_status.SerializeAsString()};
}

}  // namespace sluice::front
