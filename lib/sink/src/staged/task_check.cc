// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/task_check.h"

#include <algorithm>
#include <string>

#include "blank.h"
#include "google/cloud/tasks/v2/task.pb.h"
#include "sluice/sink/staged/envelope_codec.h"
#include "sluice/sink/target_rules.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;

constexpr std::string_view kTaskInfix = "/tasks/";

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

Status Violated() { return InvalidArgument("staged task violates its target constraints"); }

Status CheckHttp(const pb::HttpRequest& request) {
  const std::string_view url = request.url();
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return Violated();
  }
  const pb::HttpMethod method = request.http_method();
  if (!IsConcreteMethod(method)) return Violated();
  if (!request.body().empty() && !TakesHttpBody(method)) return Violated();
  if (request.has_oidc_token() && IsBlank(request.oidc_token().service_account_email())) {
    return Violated();
  }
  if (request.has_oauth_token() && IsBlank(request.oauth_token().service_account_email())) {
    return Violated();
  }
  return {};
}

Status CheckAppEngine(const pb::AppEngineHttpRequest& request) {
  if (!CheckRelativeUri(request.relative_uri()).ok()) return Violated();
  if (!request.app_engine_routing().host().empty()) return Violated();
  for (const auto& [name, value] : request.headers()) {
    if (IsReservedAppEngineHeader(name)) return Violated();
  }
  const pb::HttpMethod method = request.http_method();
  if (!IsConcreteMethod(method)) return Violated();
  if (!request.body().empty() && !TakesAppEngineBody(method)) return Violated();
  return {};
}

}  // namespace

bool IsStagedTaskId(std::string_view id) {
  return (id.size() == 32 || id.size() == 64) && std::ranges::all_of(id, IsLowerHex);
}

Status CheckTaskTarget(const pb::Task& task) {
  if (task.has_http_request()) return CheckHttp(task.http_request());
  if (task.has_app_engine_http_request()) return CheckAppEngine(task.app_engine_http_request());
  return Violated();
}

Status CheckStagedTask(std::string_view queue, std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kStagedTaskBytesMax) {
    return DataLoss("staged task has {} bytes, allowed are 1 to {}", bytes.size(),
                    kStagedTaskBytesMax);
  }
  pb::Task task;
  if (!task.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DataLoss("staged task: encoding is not a task");
  }
  const std::string_view name = task.name();
  if (!name.starts_with(queue) || !name.substr(queue.size()).starts_with(kTaskInfix) ||
      !IsStagedTaskId(name.substr(queue.size() + kTaskInfix.size()))) {
    return InvalidArgument("staged task: name is not one this sink gave under its queue");
  }
  return CheckTaskTarget(task);
}

}  // namespace sluice::sink
