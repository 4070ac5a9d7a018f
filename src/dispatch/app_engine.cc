// SPDX-License-Identifier: Apache-2.0
#include "dispatch/app_engine.h"

#include <algorithm>

#include "dispatch/url.h"

namespace sluice::dispatch {
namespace {

constexpr std::string_view kAnything = "*";
constexpr std::string_view kDefaultService = "default";

}  // namespace

Status AppEngineTable::Add(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgument("\"{}\" is not SERVICE[/VERSION[/INSTANCE]]=URL or *=URL", entry);
  }
  const std::string_view name = entry.substr(0, equals);
  std::string_view url = entry.substr(equals + 1);
  if (name != kAnything) {
    const bool is_clean = name.front() != '/' && name.back() != '/' &&
                          name.find("//") == std::string_view::npos &&
                          std::count(name.begin(), name.end(), '/') <= 2;
    if (!is_clean) {
      return InvalidArgument("\"{}\" is not SERVICE[/VERSION[/INSTANCE]] or *", name);
    }
  }
  if (url.find_first_of("?#") != std::string_view::npos || !UrlForRequest(url).ok()) {
    return InvalidArgument(
        "\"{}\" is not a base URL: write http:// or https://, a host, and perhaps a port and a "
        "path",
        url);
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  if (!urls_.emplace(name, url).second) return AlreadyExists("\"{}\" is given twice", name);
  return {};
}

StatusOr<std::string_view> AppEngineTable::BaseUrl(const core::AppEngineRouting& routing) const {
  const std::string service(routing.service.empty() ? kDefaultService
                                                    : std::string_view(routing.service));
  const std::string version = service + "/" + routing.version;
  std::vector<std::string> names;
  if (!routing.version.empty()) {
    if (!routing.instance.empty()) names.push_back(version + "/" + routing.instance);
    names.push_back(version);
  }
  names.push_back(service);
  names.emplace_back(kAnything);
  for (const std::string& name : names) {
    if (const auto found = urls_.find(name); found != urls_.end()) {
      return std::string_view(found->second);
    }
  }
  return NotFound("no address is known for the App Engine service \"{}\": set app_engine.targets",
                  service);
}

StatusOr<AppEngineTable> MakeAppEngineTable(const std::vector<std::string>& entries) {
  AppEngineTable table;
  for (const std::string& entry : entries) SLUICE_RETURN_IF_ERROR(table.Add(entry));
  return table;
}

}  // namespace sluice::dispatch
