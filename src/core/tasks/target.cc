// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/target.h"

#include <string_view>

#include "base/status.h"

namespace sluice::core {

const char* MethodName(HttpMethod method) {
  switch (method) {
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kHead:
      return "HEAD";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kDelete:
      return "DELETE";
    case HttpMethod::kPatch:
      return "PATCH";
    case HttpMethod::kOptions:
      return "OPTIONS";
  }
  CheckFailed(__FILE__, __LINE__, "method", "not one of the seven");
}

std::string AppEngineHost(const LocationName& location, const AppEngineRouting& routing) {
  std::string host;
  for (const std::string_view part :
       {std::string_view(routing.instance), std::string_view(routing.version),
        std::string_view(routing.service)}) {
    if (!part.empty()) host.append(part).append(".");
  }
  // A project of a domain, `example.com:id`, has the domain behind its id.
  const std::string_view project = location.project;
  const std::size_t colon = project.find(':');
  if (colon == std::string_view::npos) {
    host.append(project);
  } else {
    host.append(project.substr(colon + 1)).append(".").append(project.substr(0, colon));
  }
  return host.append(".").append(location.location).append(".r.appspot.com");
}

const QueueTargets::Settings& QueueTargets::get() const {
  static const Settings kNone;
  return settings_ != nullptr ? *settings_ : kNone;
}

}  // namespace sluice::core
