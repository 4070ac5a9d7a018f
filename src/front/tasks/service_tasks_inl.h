// SPDX-License-Identifier: Apache-2.0
#pragma once

// The task methods of the task service; included by service.cc alone.

#include <string>
#include <utility>

#include "env/clock.h"
#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/methods.h"
#include "front/tasks/names.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/service.h"

namespace sluice::front {
namespace internal {

struct NewTaskCall {
  engine::CreateTask command;
  TaskView view = TaskView::kBasic;
};

template <typename Request>
StatusOr<NewTaskCall> DecodeCreateTask(Request& request) {
  NewTaskCall call;
  SLUICE_ASSIGN_OR_RETURN(call.command.queue, ReadQueueName(request.parent(), "parent"));
  SLUICE_ASSIGN_OR_RETURN(call.view, DecodeView(request.response_view()));
  if (!request.has_task()) return AtField("task", InvalidArgument("task is required"));
  SLUICE_ASSIGN_OR_RETURN(call.command.task, DecodeNewTask(*request.mutable_task(),
                                                           call.command.queue, request.parent()));
  return call;
}

}  // namespace internal

template <typename Api>
void TasksService<Api>::CreateTask(typename Api::CreateTaskRequest& request,
                                   typename Api::Task& response, Call& call) {
  flow_.Begin(kTasksMethods<Api>[kCreateTask], request.parent(), call,
              [this, &request, &response](const Context& context) {
                StatusOr<internal::NewTaskCall> decoded = internal::DecodeCreateTask(request);
                if (!decoded.ok()) return flow_.End(context, decoded.status());
                if (request.task().has_retry_config()) {
                  return CompleteRetry(context, std::move(decoded->command), decoded->view, request,
                                       response);
                }
                SubmitNewTask(context, std::move(decoded->command), decoded->view, request,
                              response);
              });
}

// A task's own retry settings replace the queue's as a whole; what they leave
// open is taken from the queue as it is now (spec 2.3). Only such tasks pay for
// the question.
template <typename Api>
void TasksService<Api>::CompleteRetry(const Context& context, engine::CreateTask command,
                                      TaskView view, typename Api::CreateTaskRequest& request,
                                      typename Api::Task& response) {
  auto complete = [this, view, &request, &response](const Context& going_on,
                                                    engine::CreateTask completed,
                                                    const core::RetryConfig& defaults) {
    StatusOr<core::RetryConfig> retry =
        DecodeTaskRetry(request.task().retry_config(), defaults, "task.retry_config");
    if (!retry.ok()) return flow_.End(going_on, retry.status());
    completed.task.retry = *retry;
    SubmitNewTask(going_on, std::move(completed), view, request, response);
  };
  if (!LeavesRetryOpen(request.task().retry_config())) {
    return complete(context, std::move(command), {});
  }
  engine::GetQueue question{command.queue};
  SubmitCommand(*engine_, flow_, context, std::move(question), kQueueType,
                [complete, command = std::move(command)](const Context& going_on,
                                                         engine::Result& result) mutable {
                  complete(going_on, std::move(command), Expect<core::Queue>(result).config.retry);
                });
}

template <typename Api>
void TasksService<Api>::SubmitNewTask(const Context& context, engine::CreateTask command,
                                      TaskView view, typename Api::CreateTaskRequest& request,
                                      typename Api::Task& response) {
  if (IsTaskSizeNear(command.task, request.parent())) {
    if (Status status = CheckTaskSize(command.task, request.parent(), clock_->Now());
        !status.ok()) {
      return flow_.End(context, std::move(status));
    }
  }
  // Most of the response is known already; the lane adds names and times.
  EncodeTarget(command.task.request, view, &response);
  SubmitCommand(
      *engine_, flow_, context, std::move(command),
      [&request](absl::StatusCode code) {
        return code == absl::StatusCode::kAlreadyExists ? Subject{kTaskType, request.task().name()}
                                                        : Subject{kQueueType, request.parent()};
      },
      [this, view, &request, &response](const Context& ending, engine::Result& result) {
        const auto& task = Expect<core::Task>(result);
        EncodeTaskFrame(FullTaskName(request.parent(), task.body->task_id), task, view, &response);
        // The engine replies once the task's record is synced to the log.
        flow_.End(ending, absl::OkStatus());
      });
}

template <typename Api>
void TasksService<Api>::SubmitForTask(const Context& context, engine::Command command,
                                      TaskView view, typename Api::Task& response) {
  SubmitCommand(*engine_, flow_, context, std::move(command), kTaskType,
                [this, view, &response](const Context& ending, engine::Result& result) {
                  EncodeTask(std::string(ending.resource), Expect<core::Task>(result), view,
                             &response);
                  flow_.End(ending, absl::OkStatus());
                });
}

template <typename Api>
template <typename Command, typename Request>
void TasksService<Api>::TaskCall(const Method& method, Request& request,
                                 typename Api::Task& response, Call& call) {
  flow_.Begin(method, request.name(), call, [this, &request, &response](const Context& context) {
    StatusOr<TaskName> name = ReadTaskName(request.name(), "name");
    if (!name.ok()) return flow_.End(context, name.status());
    const StatusOr<TaskView> view = DecodeView(request.response_view());
    if (!view.ok()) return flow_.End(context, view.status());
    SubmitForTask(context, Command{*std::move(name)}, *view, response);
  });
}

template <typename Api>
void TasksService<Api>::GetTask(typename Api::GetTaskRequest& request, typename Api::Task& response,
                                Call& call) {
  TaskCall<engine::GetTask>(kTasksMethods<Api>[kGetTask], request, response, call);
}

template <typename Api>
void TasksService<Api>::RunTask(typename Api::RunTaskRequest& request, typename Api::Task& response,
                                Call& call) {
  TaskCall<engine::RunTask>(kTasksMethods<Api>[kRunTask], request, response, call);
}

template <typename Api>
void TasksService<Api>::DeleteTask(typename Api::DeleteTaskRequest& request,
                                   google::protobuf::Empty& /*response*/, Call& call) {
  flow_.Begin(kTasksMethods<Api>[kDeleteTask], request.name(), call,
              [this, &request](const Context& context) {
                StatusOr<TaskName> name = ReadTaskName(request.name(), "name");
                if (!name.ok()) return flow_.End(context, name.status());
                SubmitCommand(*engine_, flow_, context, engine::DeleteTask{*std::move(name)},
                              kTaskType, [this](const Context& ending, engine::Result&) {
                                flow_.End(ending, absl::OkStatus());
                              });
              });
}

}  // namespace sluice::front
