// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/app_engine_target.h"

#include "sluice/sink/target_rules.h"

namespace sluice::sink {
namespace {

using cloudtasks::AppEngineRouting;

bool HasSelector(const AppEngineRouting& routing) {
  return !routing.service().empty() || !routing.version().empty() || !routing.instance().empty();
}

Status CheckRouting(std::string_view which, const AppEngineRouting& routing) {
  if (routing.host().empty()) return {};
  return InvalidArgument("the {} names the host \"{}\", which is output-only", which,
                         routing.host());
}

Status Extracted(const Status& status) {
  return Status(status.code(),
                fmt::format("the extracted relative URI is refused: {}", Message(status)));
}

}  // namespace

AppEngineTarget AppEngineTarget::To(std::string_view relative_uri) {
  AppEngineTarget target;
  target.status_ = CheckRelativeUri(relative_uri);
  target.request_.set_relative_uri(std::string(relative_uri));
  target.request_.set_http_method(cloudtasks::HttpMethod::POST);
  return target;
}

AppEngineTarget& AppEngineTarget::WithMethod(cloudtasks::HttpMethod method) {
  Refuse(CheckMethod(method));
  if (IsConcreteMethod(method)) request_.set_http_method(method);
  return *this;
}

AppEngineTarget& AppEngineTarget::WithRouting(const AppEngineRouting& routing) {
  Refuse(CheckRouting("routing", routing));
  request_.clear_app_engine_routing();
  if (HasSelector(routing)) *request_.mutable_app_engine_routing() = routing;
  return *this;
}

void AppEngineTarget::Refuse(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

bool AppEngineTarget::has_body() const { return TakesAppEngineBody(request_.http_method()); }

Status AppEngineTarget::SetUri(std::string uri, cloudtasks::AppEngineHttpRequest& request) {
  const Status status = CheckRelativeUri(uri);
  if (!status.ok()) return Extracted(status);
  request.set_relative_uri(std::move(uri));
  return {};
}

Status AppEngineTarget::SetHeaders(const Headers& headers,
                                   cloudtasks::AppEngineHttpRequest& request) {
  for (const auto& [name, value] : headers) {
    if (IsReservedAppEngineHeader(name)) {
      return InvalidArgument("the header \"{}\" is App Engine's own and cannot be overridden",
                             name);
    }
    (*request.mutable_headers())[name] = value;
  }
  return {};
}

Status AppEngineTarget::SetRouting(const std::optional<AppEngineRouting>& routing,
                                   cloudtasks::AppEngineHttpRequest& request) {
  if (!routing) return {};
  SLUICE_RETURN_IF_ERROR(CheckRouting("extracted routing", *routing));
  if (HasSelector(*routing)) *request.mutable_app_engine_routing() = *routing;
  return {};
}

}  // namespace sluice::sink
