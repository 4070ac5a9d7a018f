// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two versions of the public API as types. Their messages have the same names
// and mostly the same fields, at other numbers, so one template serves both: what
// is written once over `Api` or over a message type is made for each.
//
// Where the versions differ, code asks the message itself (`requires`) or one of
// the functions below.

#include <string_view>

#include "google/cloud/tasks/v2/cloudtasks.pb.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.pb.h"

namespace sluice::front {

namespace tasks_v2 = google::cloud::tasks::v2;
namespace tasks_v2beta3 = google::cloud::tasks::v2beta3;

#define SLUICE_TASKS_API(Name, ns, version)                                                   \
  struct Name {                                                                               \
    static constexpr std::string_view kVersion = version;                                     \
    static constexpr std::string_view kService = "google.cloud.tasks." version ".CloudTasks"; \
    using Queue = ns::Queue;                                                                  \
    using Task = ns::Task;                                                                    \
    using CmekConfig = ns::CmekConfig;                                                        \
    using ListQueuesRequest = ns::ListQueuesRequest;                                          \
    using ListQueuesResponse = ns::ListQueuesResponse;                                        \
    using GetQueueRequest = ns::GetQueueRequest;                                              \
    using CreateQueueRequest = ns::CreateQueueRequest;                                        \
    using UpdateQueueRequest = ns::UpdateQueueRequest;                                        \
    using DeleteQueueRequest = ns::DeleteQueueRequest;                                        \
    using PurgeQueueRequest = ns::PurgeQueueRequest;                                          \
    using PauseQueueRequest = ns::PauseQueueRequest;                                          \
    using ResumeQueueRequest = ns::ResumeQueueRequest;                                        \
    using ListTasksRequest = ns::ListTasksRequest;                                            \
    using ListTasksResponse = ns::ListTasksResponse;                                          \
    using GetTaskRequest = ns::GetTaskRequest;                                                \
    using CreateTaskRequest = ns::CreateTaskRequest;                                          \
    using DeleteTaskRequest = ns::DeleteTaskRequest;                                          \
    using RunTaskRequest = ns::RunTaskRequest;                                                \
    using BatchCreateTasksRequest = ns::BatchCreateTasksRequest;                              \
    using BatchDeleteTasksRequest = ns::BatchDeleteTasksRequest;                              \
    using UpdateCmekConfigRequest = ns::UpdateCmekConfigRequest;                              \
    using GetCmekConfigRequest = ns::GetCmekConfigRequest;                                    \
  }

SLUICE_TASKS_API(ApiV2, tasks_v2, "v2");
SLUICE_TASKS_API(ApiV2Beta3, tasks_v2beta3, "v2beta3");

#undef SLUICE_TASKS_API

/// What only v2beta3 can set or tell: type, task_ttl, tombstone_ttl, stats, and a
/// burst of the client's choice (spec 0).
template <typename Queue>
inline constexpr bool kIsBeta = requires(const Queue& queue) {
  queue.tombstone_ttl();
};

/// The App Engine target of a queue, and the path of that field.
inline constexpr std::string_view AppEngineRoutingPath(const tasks_v2::Queue&) {
  return "app_engine_routing_override";
}
inline constexpr std::string_view AppEngineRoutingPath(const tasks_v2beta3::Queue&) {
  return "app_engine_http_queue.app_engine_routing_override";
}
inline const tasks_v2::AppEngineRouting& AppEngineRoutingOf(const tasks_v2::Queue& queue) {
  return queue.app_engine_routing_override();
}
inline const tasks_v2beta3::AppEngineRouting& AppEngineRoutingOf(
    const tasks_v2beta3::Queue& queue) {
  return queue.app_engine_http_queue().app_engine_routing_override();
}
inline tasks_v2::AppEngineRouting* MutableAppEngineRouting(tasks_v2::Queue* queue) {
  return queue->mutable_app_engine_routing_override();
}
inline tasks_v2beta3::AppEngineRouting* MutableAppEngineRouting(tasks_v2beta3::Queue* queue) {
  return queue->mutable_app_engine_http_queue()->mutable_app_engine_routing_override();
}

}  // namespace sluice::front
