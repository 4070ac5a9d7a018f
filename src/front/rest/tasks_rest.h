// SPDX-License-Identifier: Apache-2.0
#pragma once

// CloudTasks of both versions over REST: every method of the service object.
// Threading: at start. Ownership: `service` outlives `api`.

#include "front/rest/rest_api.h"
#include "front/tasks/locations.h"
#include "front/tasks/service.h"

namespace sluice::front {

void AddTasks(TasksServiceV2* service, RestApi* api);
void AddTasks(TasksServiceV2Beta3* service, RestApi* api);
/// Below the paths of either version.
void AddLocations(LocationsService* service, RestApi* api);

}  // namespace sluice::front
