// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/task_check.h"

#include <algorithm>
#include <string>

#include "google/cloud/tasks/v2/task.pb.h"
#include "staged/text.h"

namespace sluice::sink {
namespace {

namespace pb = google::cloud::tasks::v2;

constexpr std::size_t kRelativeUriMax = 2083;
constexpr std::string_view kTaskInfix = "/tasks/";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsHex(char c) { return IsLowerHex(c) || (c >= 'A' && c <= 'F'); }

bool IsConcrete(pb::HttpMethod method) {
  return method != pb::HTTP_METHOD_UNSPECIFIED && pb::HttpMethod_IsValid(method);
}

Status Violated() { return InvalidArgument("staged task violates its target constraints"); }

Status CheckHttp(const pb::HttpRequest& request) {
  if (!StartsWith(request.url(), "http://") && !StartsWith(request.url(), "https://")) {
    return Violated();
  }
  const pb::HttpMethod method = request.http_method();
  if (!IsConcrete(method)) return Violated();
  const bool takes_body = method == pb::POST || method == pb::PUT || method == pb::PATCH;
  if (!request.body().empty() && !takes_body) return Violated();
  if (request.has_oidc_token() && IsBlank(request.oidc_token().service_account_email())) {
    return Violated();
  }
  if (request.has_oauth_token() && IsBlank(request.oauth_token().service_account_email())) {
    return Violated();
  }
  return {};
}

/// Path and query only: no scheme, authority or fragment, and nothing that a URI
/// parser refuses. Letters outside ASCII pass, as they do for the original.
bool IsRelativeUri(std::string_view uri) {
  if (uri.size() > kRelativeUriMax) return false;
  if (uri.empty()) return true;
  if (uri.front() != '/' || StartsWith(uri, "//")) return false;
  for (std::size_t at = 0; at < uri.size(); ++at) {
    const char c = uri[at];
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
    if (std::string_view("\"#<>\\^`{|}[]").find(c) != std::string_view::npos) return false;
    if (c == '%' && (at + 2 >= uri.size() || !IsHex(uri[at + 1]) || !IsHex(uri[at + 2]))) {
      return false;
    }
  }
  return true;
}

bool IsReservedHeader(std::string_view name) {
  while (!name.empty() && static_cast<unsigned char>(name.front()) <= 0x20) name.remove_prefix(1);
  while (!name.empty() && static_cast<unsigned char>(name.back()) <= 0x20) name.remove_suffix(1);
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower == "host" || lower == "content-length" || StartsWith(lower, "x-google-") ||
         StartsWith(lower, "x-appengine-");
}

Status CheckAppEngine(const pb::AppEngineHttpRequest& request) {
  if (!IsRelativeUri(request.relative_uri())) return Violated();
  if (!request.app_engine_routing().host().empty()) return Violated();
  for (const auto& [name, value] : request.headers()) {
    if (IsReservedHeader(name)) return Violated();
  }
  const pb::HttpMethod method = request.http_method();
  if (!IsConcrete(method)) return Violated();
  if (!request.body().empty() && method != pb::POST && method != pb::PUT) return Violated();
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
  if (bytes.empty() || bytes.size() > 100'000) {
    return DataLoss("staged task has {} bytes, allowed are 1 to 100000", bytes.size());
  }
  pb::Task task;
  if (!task.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DataLoss("staged task: encoding is not a task");
  }
  const std::string_view name = task.name();
  if (!StartsWith(name, queue) || !StartsWith(name.substr(queue.size()), kTaskInfix) ||
      !IsStagedTaskId(name.substr(queue.size() + kTaskInfix.size()))) {
    return InvalidArgument("staged task: name is not one this sink gave under its queue");
  }
  return CheckTaskTarget(task);
}

}  // namespace sluice::sink
