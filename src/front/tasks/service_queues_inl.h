// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queue methods of the task service; included by service.cc alone.

#include <string>
#include <utility>

#include "front/errors.h"
#include "front/tasks/engine_call.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/methods.h"
#include "front/tasks/names.h"
#include "front/tasks/queue_codec.h"
#include "front/tasks/service.h"

namespace sluice::front {
namespace internal {

/// Which fields of a queue an answer shows.
struct ShownFields {
  FieldSelection mask;
  bool has_stats = false;  // only when asked for by name (spec 2.10)
};

/// Errors: INVALID_ARGUMENT for a path that names no field.
template <typename Api, typename Request>
StatusOr<ShownFields> DecodeReadMask(const Request& request) {
  ShownFields shown;
  if constexpr (requires { request.read_mask(); }) {
    SLUICE_ASSIGN_OR_RETURN(
        shown.mask,
        FieldSelection::Resolve(request.read_mask(), *Api::Queue::descriptor(), "read_mask"));
    shown.has_stats = request.read_mask().paths_size() > 0 && shown.mask.Touches("stats");
  }
  return shown;
}

template <typename Api>
StatusOr<engine::CreateQueue> DecodeCreateQueue(const typename Api::CreateQueueRequest& request) {
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

template <typename Api>
StatusOr<engine::UpdateQueue> DecodeUpdateQueue(const typename Api::UpdateQueueRequest& request) {
  if (!request.has_queue()) return AtField("queue", InvalidArgument("queue is required"));
  engine::UpdateQueue command;
  SLUICE_ASSIGN_OR_RETURN(command.name, ReadQueueName(request.queue().name(), "queue.name"));
  SLUICE_ASSIGN_OR_RETURN(
      const FieldSelection selection,
      FieldSelection::Resolve(request.update_mask(), *Api::Queue::descriptor(), "update_mask"));
  SLUICE_ASSIGN_OR_RETURN(command.patch, DecodeQueueSettings(request.queue(), selection));
  return command;
}

}  // namespace internal

template <typename Api>
void TasksService<Api>::SubmitForQueue(const Context& context, engine::Command command,
                                       typename Api::Queue& response) {
  SubmitCommand(*engine_, flow_, context, std::move(command), kQueueType,
                [this, &response](const Context& ending, engine::Result& result) {
                  EncodeQueue(Expect<core::Queue>(result), &response);
                  flow_.End(ending, absl::OkStatus());
                });
}

template <typename Api>
template <typename Command, typename Request>
void TasksService<Api>::QueueCall(const Method& method, Request& request,
                                  typename Api::Queue& response, Call& call) {
  flow_.Begin(method, request.name(), call, [this, &request, &response](const Context& context) {
    StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
    if (!name.ok()) return flow_.End(context, name.status());
    SubmitForQueue(context, Command{*std::move(name)}, response);
  });
}

template <typename Api>
template <typename Then>
void TasksService<Api>::WithStats(const Context& context, bool is_wanted,
                                  std::vector<QueueName> queues, Then then) {
  if (!is_wanted || queues.empty()) return then(context, std::vector<engine::NamedStats>());
  SubmitCommand(*engine_, flow_, context, engine::CollectStats{std::move(queues)}, kQueueType,
                [then = std::move(then)](const Context& going_on, engine::Result& result) mutable {
                  then(going_on, std::move(Expect<std::vector<engine::NamedStats>>(result)));
                });
}

template <typename Api>
void TasksService<Api>::GetQueue(typename Api::GetQueueRequest& request,
                                 typename Api::Queue& response, Call& call) {
  flow_.Begin(
      kTasksMethods<Api>[kGetQueue], request.name(), call,
      [this, &request, &response](const Context& context) {
        StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
        if (!name.ok()) return flow_.End(context, name.status());
        StatusOr<internal::ShownFields> shown = internal::DecodeReadMask<Api>(request);
        if (!shown.ok()) return flow_.End(context, shown.status());
        auto show = [this, &response, shown = *std::move(shown)](const Context& going_on,
                                                                 engine::Result& result) {
          const auto& queue = Expect<core::Queue>(result);
          EncodeQueue(queue, &response);
          WithStats(going_on, shown.has_stats, {queue.name},
                    [this, &response, mask = shown.mask](const Context& ending, const auto& stats) {
                      if (!stats.empty()) EncodeQueueStats(stats.front().stats, &response);
                      mask.Trim(&response);
                      flow_.End(ending, absl::OkStatus());
                    });
        };
        SubmitCommand(*engine_, flow_, context, engine::GetQueue{*std::move(name)}, kQueueType,
                      std::move(show));
      });
}

template <typename Api>
void TasksService<Api>::PurgeQueue(typename Api::PurgeQueueRequest& request,
                                   typename Api::Queue& response, Call& call) {
  QueueCall<engine::PurgeQueue>(kTasksMethods<Api>[kPurgeQueue], request, response, call);
}

template <typename Api>
void TasksService<Api>::PauseQueue(typename Api::PauseQueueRequest& request,
                                   typename Api::Queue& response, Call& call) {
  QueueCall<engine::PauseQueue>(kTasksMethods<Api>[kPauseQueue], request, response, call);
}

template <typename Api>
void TasksService<Api>::ResumeQueue(typename Api::ResumeQueueRequest& request,
                                    typename Api::Queue& response, Call& call) {
  QueueCall<engine::ResumeQueue>(kTasksMethods<Api>[kResumeQueue], request, response, call);
}

template <typename Api>
void TasksService<Api>::CreateQueue(typename Api::CreateQueueRequest& request,
                                    typename Api::Queue& response, Call& call) {
  flow_.Begin(kTasksMethods<Api>[kCreateQueue], request.parent(), call,
              [this, &request, &response](const Context& context) {
                StatusOr<engine::CreateQueue> command = internal::DecodeCreateQueue<Api>(request);
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

template <typename Api>
void TasksService<Api>::UpdateQueue(typename Api::UpdateQueueRequest& request,
                                    typename Api::Queue& response, Call& call) {
  flow_.Begin(kTasksMethods<Api>[kUpdateQueue], request.queue().name(), call,
              [this, &request, &response](const Context& context) {
                StatusOr<engine::UpdateQueue> command = internal::DecodeUpdateQueue<Api>(request);
                if (!command.ok()) return flow_.End(context, command.status());
                SubmitForQueue(context, *std::move(command), response);
              });
}

template <typename Api>
void TasksService<Api>::DeleteQueue(typename Api::DeleteQueueRequest& request,
                                    google::protobuf::Empty& /*response*/, Call& call) {
  flow_.Begin(kTasksMethods<Api>[kDeleteQueue], request.name(), call,
              [this, &request](const Context& context) {
                StatusOr<QueueName> name = ReadQueueName(request.name(), "name");
                if (!name.ok()) return flow_.End(context, name.status());
                SubmitCommand(*engine_, flow_, context, engine::DeleteQueue{*std::move(name)},
                              kQueueType, [this](const Context& ending, engine::Result&) {
                                flow_.End(ending, absl::OkStatus());
                              });
              });
}

}  // namespace sluice::front
