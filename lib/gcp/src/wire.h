// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the clients of this library share: statuses, deadlines and
// the routing header of Google's services. Inline and pure; any thread.

#include <fmt/format.h>
#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "base/time.h"

namespace sluice::gcp {

/// gRPC's codes are the canonical ones.
inline Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return {};
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

inline void SetDeadline(Duration timeout, grpc::ClientContext* context) {
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                     gpr_time_from_micros(ToMicros(timeout), GPR_TIMESPAN)));
}

/// `key=value` with the value percent-encoded, as Google's front ends route by.
inline std::string RoutingHeader(std::string_view key, std::string_view value) {
  std::string out = fmt::format("{}=", key);
  AppendPercentEncoded(value, kUnreservedMarks, &out);
  return out;
}

}  // namespace sluice::gcp
