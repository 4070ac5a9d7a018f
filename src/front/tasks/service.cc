// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/service.h"

// The service's frame, and where its templates are made for both versions.

#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/methods.h"
#include "front/tasks/service_lists_inl.h"
#include "front/tasks/service_policy_inl.h"
#include "front/tasks/service_queues_inl.h"
#include "front/tasks/service_tasks_inl.h"

namespace sluice::front {

template <typename Api>
TasksService<Api>::TasksService(const TasksDependencies& dependencies)
    : engine_(dependencies.engine),
      clock_(dependencies.clock),
      flow_(dependencies.gate, dependencies.observer) {
  SLUICE_CHECK(engine_ != nullptr, "the service needs an engine");
  SLUICE_CHECK(clock_ != nullptr, "the service needs a clock");
}

template <typename Api>
std::span<const Method> TasksService<Api>::Methods() {
  return kTasksMethods<Api>;
}

template <typename Api>
void TasksService<Api>::Refuse(const Method& method, std::string_view resource, Call& call) {
  flow_.Begin(method, resource, call, [this](const Context& context) {
    flow_.End(context, Unimplemented("{}.{} is not supported by this server",
                                     context.method->service, context.method->name));
  });
}

template <typename Api>
void TasksService<Api>::BatchCreateTasks(typename Api::BatchCreateTasksRequest& request,
                                         google::longrunning::Operation& /*response*/, Call& call) {
  Refuse(kTasksMethods<Api>[kBatchCreateTasks], request.parent(), call);
}

template <typename Api>
void TasksService<Api>::BatchDeleteTasks(typename Api::BatchDeleteTasksRequest& request,
                                         google::longrunning::Operation& /*response*/, Call& call) {
  Refuse(kTasksMethods<Api>[kBatchDeleteTasks], request.parent(), call);
}

template class TasksService<ApiV2>;
template class TasksService<ApiV2Beta3>;

}  // namespace sluice::front
