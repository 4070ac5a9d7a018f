// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/service_v2.h"

// The service's frame and its queue methods; tasks are in service_v2_tasks.cc,
// listings in service_v2_lists.cc.

#include <string>
#include <utility>

#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/methods_v2.h"
#include "front/tasks/names.h"
#include "front/tasks/queue_codec.h"

namespace sluice::front {
namespace {

namespace v2 = google::cloud::tasks::v2;
using google::protobuf::Empty;

StatusOr<engine::CreateQueue> DecodeCreateQueue(const v2::CreateQueueRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const LocationName parent, ReadLocationName(request.parent(), "parent"));
  if (!request.has_queue()) return AtField("queue", InvalidArgument("queue is required"));
  engine::CreateQueue command;
  SLUICE_ASSIGN_OR_RETURN(command.name, ReadQueueName(request.queue().name(), "queue.name"));
  if (command.name.location != parent) {
    return AtField("queue.name", InvalidArgument("queue.name: the location of the request (\"{}\") "
                                                 "is not the location in the queue's name (\"{}\")",
                                                 request.parent(), request.queue().name()));
  }
  SLUICE_ASSIGN_OR_RETURN(command.settings, DecodeQueueSettings(request.queue(), {}));
  return command;
}

StatusOr<engine::UpdateQueue> DecodeUpdateQueue(const v2::UpdateQueueRequest& request) {
  if (!request.has_queue()) return AtField("queue", InvalidArgument("queue is required"));
  engine::UpdateQueue command;
  SLUICE_ASSIGN_OR_RETURN(command.name, ReadQueueName(request.queue().name(), "queue.name"));
  SLUICE_ASSIGN_OR_RETURN(
      const FieldSelection selection,
      FieldSelection::Resolve(request.update_mask(), *v2::Queue::descriptor(), "update_mask"));
  SLUICE_ASSIGN_OR_RETURN(command.patch, DecodeQueueSettings(request.queue(), selection));
  return command;
}

}  // namespace

TasksServiceV2::TasksServiceV2(const Dependencies& dependencies)
    : engine_(dependencies.engine),
      clock_(dependencies.clock),
      flow_(dependencies.gate, dependencies.observer) {
  SLUICE_CHECK(engine_ != nullptr, "the service needs an engine");
  SLUICE_CHECK(clock_ != nullptr, "the service needs a clock");
}

std::span<const Method> TasksServiceV2::Methods() { return kTasksV2Methods; }

void TasksServiceV2::SubmitForQueue(const Context& context, engine::Command command,
                                    v2::Queue& response) {
  SubmitCommand(*engine_, flow_, context, std::move(command), kQueueType,
                [this, &response](const Context& ending, engine::Result& result) {
                  EncodeQueue(Expect<core::Queue>(result), &response);
                  flow_.End(ending, absl::OkStatus());
                });
}

template <typename Command, typename Request>
void TasksServiceV2::QueueCall(const Method& method, Request& request, v2::Queue& response,
                               Call& call) {
  flow_.Begin(method, request.name(), call, [this, &request, &response](const Context& context) {
    StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
    if (!name.ok()) return flow_.End(context, name.status());
    SubmitForQueue(context, Command{*std::move(name)}, response);
  });
}

void TasksServiceV2::GetQueue(v2::GetQueueRequest& request, v2::Queue& response, Call& call) {
  QueueCall<engine::GetQueue>(kTasksV2Methods[kGetQueue], request, response, call);
}

void TasksServiceV2::PurgeQueue(v2::PurgeQueueRequest& request, v2::Queue& response, Call& call) {
  QueueCall<engine::PurgeQueue>(kTasksV2Methods[kPurgeQueue], request, response, call);
}

void TasksServiceV2::PauseQueue(v2::PauseQueueRequest& request, v2::Queue& response, Call& call) {
  QueueCall<engine::PauseQueue>(kTasksV2Methods[kPauseQueue], request, response, call);
}

void TasksServiceV2::ResumeQueue(v2::ResumeQueueRequest& request, v2::Queue& response, Call& call) {
  QueueCall<engine::ResumeQueue>(kTasksV2Methods[kResumeQueue], request, response, call);
}

void TasksServiceV2::CreateQueue(v2::CreateQueueRequest& request, v2::Queue& response, Call& call) {
  flow_.Begin(kTasksV2Methods[kCreateQueue], request.parent(), call,
              [this, &request, &response](const Context& context) {
                StatusOr<engine::CreateQueue> command = DecodeCreateQueue(request);
                if (!command.ok()) return flow_.End(context, command.status());
                SubmitCommand(
                    *engine_, flow_, context, *std::move(command),
                    [&request](absl::StatusCode) {
                      return Subject{kQueueType, request.queue().name()};
                    },
                    [this, &response](const Context& ending, engine::Result& result) {
                      EncodeQueue(Expect<core::Queue>(result), &response);
                      flow_.End(ending, absl::OkStatus());
                    });
              });
}

void TasksServiceV2::UpdateQueue(v2::UpdateQueueRequest& request, v2::Queue& response, Call& call) {
  flow_.Begin(kTasksV2Methods[kUpdateQueue], request.queue().name(), call,
              [this, &request, &response](const Context& context) {
                StatusOr<engine::UpdateQueue> command = DecodeUpdateQueue(request);
                if (!command.ok()) return flow_.End(context, command.status());
                SubmitForQueue(context, *std::move(command), response);
              });
}

void TasksServiceV2::DeleteQueue(v2::DeleteQueueRequest& request, Empty& /*response*/, Call& call) {
  flow_.Begin(kTasksV2Methods[kDeleteQueue], request.name(), call,
              [this, &request](const Context& context) {
                StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
                if (!name.ok()) return flow_.End(context, name.status());
                SubmitCommand(*engine_, flow_, context, engine::DeleteQueue{*std::move(name)},
                              kQueueType, [this](const Context& ending, engine::Result&) {
                                flow_.End(ending, absl::OkStatus());
                              });
              });
}

void TasksServiceV2::Refuse(const Method& method, std::string_view resource, Call& call) {
  flow_.Begin(method, resource, call, [this](const Context& context) {
    flow_.End(context, Unimplemented("{}.{} is not supported by this server",
                                     context.method->service, context.method->name));
  });
}

void TasksServiceV2::GetIamPolicy(google::iam::v1::GetIamPolicyRequest& request,
                                  google::iam::v1::Policy& /*response*/, Call& call) {
  Refuse(kTasksV2Methods[kGetIamPolicy], request.resource(), call);
}

void TasksServiceV2::SetIamPolicy(google::iam::v1::SetIamPolicyRequest& request,
                                  google::iam::v1::Policy& /*response*/, Call& call) {
  Refuse(kTasksV2Methods[kSetIamPolicy], request.resource(), call);
}

void TasksServiceV2::TestIamPermissions(google::iam::v1::TestIamPermissionsRequest& request,
                                        google::iam::v1::TestIamPermissionsResponse& /*response*/,
                                        Call& call) {
  Refuse(kTasksV2Methods[kTestIamPermissions], request.resource(), call);
}

void TasksServiceV2::BatchCreateTasks(v2::BatchCreateTasksRequest& request,
                                      google::longrunning::Operation& /*response*/, Call& call) {
  Refuse(kTasksV2Methods[kBatchCreateTasks], request.parent(), call);
}

void TasksServiceV2::BatchDeleteTasks(v2::BatchDeleteTasksRequest& request,
                                      google::longrunning::Operation& /*response*/, Call& call) {
  Refuse(kTasksV2Methods[kBatchDeleteTasks], request.parent(), call);
}

void TasksServiceV2::UpdateCmekConfig(v2::UpdateCmekConfigRequest& request,
                                      v2::CmekConfig& /*response*/, Call& call) {
  Refuse(kTasksV2Methods[kUpdateCmekConfig], request.cmek_config().name(), call);
}

void TasksServiceV2::GetCmekConfig(v2::GetCmekConfigRequest& request, v2::CmekConfig& /*response*/,
                                   Call& call) {
  Refuse(kTasksV2Methods[kGetCmekConfig], request.name(), call);
}

}  // namespace sluice::front
