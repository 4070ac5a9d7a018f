// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/queue_destination.h"

#include <functional>

#include "blank.h"

namespace sluice::sink {
namespace {

/// Cuts the text up to the next slash off `rest`; the whole of it without one.
std::string_view TakeSegment(std::string_view& rest) {
  const std::size_t slash = rest.find('/');
  const std::string_view segment = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
  return segment;
}

}  // namespace

StatusOr<QueueDestination> QueueDestination::Of(std::string_view project, std::string_view location,
                                                std::string_view queue) {
  SLUICE_RETURN_IF_ERROR(CheckComponent("queue", "project", project));
  SLUICE_RETURN_IF_ERROR(CheckComponent("queue", "location", location));
  SLUICE_RETURN_IF_ERROR(CheckComponent("queue", "queue id", queue));
  QueueDestination destination;
  destination.project_ = project;
  destination.location_ = location;
  destination.queue_ = queue;
  destination.path_ = fmt::format("projects/{}/locations/{}/queues/{}", project, location, queue);
  destination.hash_ = std::hash<std::string>{}(destination.path_);
  return destination;
}

StatusOr<QueueDestination> QueueDestination::Parse(std::string_view path) {
  std::string_view rest = path;
  const std::string_view projects = TakeSegment(rest);
  const std::string_view project = TakeSegment(rest);
  const std::string_view locations = TakeSegment(rest);
  const std::string_view location = TakeSegment(rest);
  const std::string_view queues = TakeSegment(rest);
  if (projects != "projects" || locations != "locations" || queues != "queues") {
    return InvalidArgument("a queue must have the form projects/P/locations/L/queues/Q, not \"{}\"",
                           path);
  }
  return Of(project, location, rest);
}

std::string QueueDestination::ToString() const {
  return fmt::format("{}/{}/{}", project_, location_, queue_);
}

}  // namespace sluice::sink
