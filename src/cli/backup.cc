// SPDX-License-Identifier: Apache-2.0
#include "cli/backup.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/admin_client.h"

namespace sluice::cli {

ExitCode Backup(const std::string& server, const std::string& dir) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(dir, error);
  if (dir.empty() || error) {
    fmt::print(stderr, "sluice: \"{}\" is not a folder's name\n", dir);
    return ExitCode::kUsage;
  }
  AdminRequest request;
  request.server = server;
  request.path = "/admin/v1/backup";
  request.json_body = nlohmann::json({{"dir", absolute.lexically_normal().string()}})
                          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  request.is_patient = true;
  const StatusOr<nlohmann::json> answer = CallAdmin(request);
  if (!answer.ok()) {
    fmt::print(stderr, "sluice: no backup: {}\n", Message(answer.status()));
    return ExitCode::kFailure;
  }
  fmt::print("backup written to {}\n", answer->value("dir", dir));
  return ExitCode::kOk;
}

}  // namespace sluice::cli
