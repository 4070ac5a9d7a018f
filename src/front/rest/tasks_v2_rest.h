// SPDX-License-Identifier: Apache-2.0
#pragma once

// google.cloud.tasks.v2.CloudTasks over REST: every method of the service object.
// Threading: at start. Ownership: `service` outlives `api`.

#include "front/rest/rest_api.h"

namespace sluice::front {

class TasksServiceV2;
class TasksServiceV2Beta3;

void AddTasksV2(TasksServiceV2* service, RestApi* api);
/// What is served of google.cloud.tasks.v2beta3.CloudTasks.
void AddTasksV2Beta3(TasksServiceV2Beta3* service, RestApi* api);

}  // namespace sluice::front
