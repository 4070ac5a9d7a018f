// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/names.h"

#include <utility>

#include "front/errors.h"

namespace sluice::front {
namespace {

constexpr std::string_view kQueueHelp =
    "https://cloud.google.com/tasks/docs/reference/rest/v2/"
    "projects.locations.queues#Queue.FIELDS.name";
constexpr std::string_view kTaskHelp =
    "https://cloud.google.com/tasks/docs/reference/rest/v2/"
    "projects.locations.queues.tasks#Task.FIELDS.name";

template <typename Name>
StatusOr<Name> Read(std::string_view name, std::string_view field, std::string_view help,
                    std::string_view help_url) {
  StatusOr<Name> parsed = Name::Parse(name);
  if (parsed.ok()) return parsed;
  Status status = AtField(field, parsed.status());
  if (!help.empty()) AddHelp(&status, help, help_url);
  return status;
}

}  // namespace

StatusOr<LocationName> ReadLocationName(std::string_view name, std::string_view field) {
  return Read<LocationName>(name, field, {}, {});
}

StatusOr<QueueName> ReadQueueName(std::string_view name, std::string_view field) {
  return Read<QueueName>(name, field, "Definition of queue name", kQueueHelp);
}

StatusOr<TaskName> ReadTaskName(std::string_view name, std::string_view field) {
  return Read<TaskName>(name, field, "Definition of task ID", kTaskHelp);
}

StatusOr<LocationName> ReadCmekConfigName(std::string_view name, std::string_view field) {
  constexpr std::string_view kSuffix = "/cmekConfig";
  if (!name.ends_with(kSuffix)) {
    return AtField(field, InvalidArgument("{} \"{}\" does not have the form "
                                          "projects/PROJECT/locations/LOCATION/cmekConfig",
                                          field, name));
  }
  name.remove_suffix(kSuffix.size());
  return ReadLocationName(name, field);
}

Status AboutResource(Status status, std::string_view type, std::string_view name) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      AddResourceInfo(&status, type, name);
      break;
    default:
      break;
  }
  return status;
}

}  // namespace sluice::front
