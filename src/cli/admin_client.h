// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of the admin API of a running server, for the subcommands that need one.
//
// Threading: blocks the calling thread. Failure: UNAVAILABLE when no server
// answers; otherwise the server's own error.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/status.h"

namespace sluice::cli {

struct AdminRequest {
  std::string server;  // HOST:PORT, or a URL for TLS: https://HOST:PORT
  std::string path;
  std::optional<std::string> json_body;  // set: a POST
  bool is_patient = false;               // wait for the answer without a limit
};

StatusOr<nlohmann::json> CallAdmin(const AdminRequest& request);

/// The same without a look at the answer.
struct RawAnswer {
  long http_status = 0;
  std::string body;
};
StatusOr<RawAnswer> CallAdminRaw(const AdminRequest& request);

}  // namespace sluice::cli
