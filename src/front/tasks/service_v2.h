// SPDX-License-Identifier: Apache-2.0
#pragma once

// The methods of google.cloud.tasks.v2.CloudTasks over protobuf messages: each
// validates its request, sends one command to the engine (two where a task's own
// retry settings lean on its queue's) and encodes the reply. Knows no transport:
// the gRPC and the REST front call the same object.
//
// Does not hold state, pace, retry or authenticate.
//
// Threading: methods may be called from any thread and do not block. Replies are
// encoded on the engine's lane, so what can be built before is built before.
// Ownership: request, response and call belong to the transport and live until
// Call::Finish; a request is used up: strings are moved out of it.
// Failure: every error names the resource, the limit and the value, with details
// as in front/errors.h. UNIMPLEMENTED stands for what is not built yet; the
// table in docs/reference/fields-tasks-v2.md says which.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/commands.h"
#include "front/call_flow.h"
#include "front/call_gate.h"
#include "front/tasks/task_codec.h"
#include "google/cloud/tasks/v2/cloudtasks.pb.h"

namespace sluice::engine {
class Engine;
}
namespace sluice::env {
class Clock;
}

namespace sluice::front {

namespace tasks_v2 = google::cloud::tasks::v2;

inline constexpr std::int32_t kQueuesPageMax = 9800;
inline constexpr std::int32_t kTasksPageMax = 1000;
/// A page of tasks ends early here: clients refuse messages over 4 MiB by default.
inline constexpr std::size_t kTasksPageBytesMax = 3u << 20;

class TasksServiceV2 {
 public:
  struct Dependencies {
    engine::Engine* engine = nullptr;
    env::Clock* clock = nullptr;
    CallGate* gate = nullptr;          // absent: calls go straight through
    CallObserver* observer = nullptr;  // absent: nobody counts
  };

  explicit TasksServiceV2(const Dependencies& dependencies);
  TasksServiceV2(const TasksServiceV2&) = delete;
  TasksServiceV2& operator=(const TasksServiceV2&) = delete;

  /// Every method, for whoever counts or names them; the same objects that gate
  /// and observer see.
  [[nodiscard]] static std::span<const Method> Methods();

  // --- Queues ---
  void ListQueues(tasks_v2::ListQueuesRequest& request, tasks_v2::ListQueuesResponse& response,
                  Call& call);
  void GetQueue(tasks_v2::GetQueueRequest& request, tasks_v2::Queue& response, Call& call);
  void CreateQueue(tasks_v2::CreateQueueRequest& request, tasks_v2::Queue& response, Call& call);
  void UpdateQueue(tasks_v2::UpdateQueueRequest& request, tasks_v2::Queue& response, Call& call);
  void DeleteQueue(tasks_v2::DeleteQueueRequest& request, google::protobuf::Empty& response,
                   Call& call);
  void PurgeQueue(tasks_v2::PurgeQueueRequest& request, tasks_v2::Queue& response, Call& call);
  void PauseQueue(tasks_v2::PauseQueueRequest& request, tasks_v2::Queue& response, Call& call);
  void ResumeQueue(tasks_v2::ResumeQueueRequest& request, tasks_v2::Queue& response, Call& call);

  // --- Tasks ---
  void ListTasks(tasks_v2::ListTasksRequest& request, tasks_v2::ListTasksResponse& response,
                 Call& call);
  void GetTask(tasks_v2::GetTaskRequest& request, tasks_v2::Task& response, Call& call);
  void CreateTask(tasks_v2::CreateTaskRequest& request, tasks_v2::Task& response, Call& call);
  void DeleteTask(tasks_v2::DeleteTaskRequest& request, google::protobuf::Empty& response,
                  Call& call);
  void RunTask(tasks_v2::RunTaskRequest& request, tasks_v2::Task& response, Call& call);

  // --- Answered with UNIMPLEMENTED, naming the method ---
  void GetIamPolicy(google::iam::v1::GetIamPolicyRequest& request,
                    google::iam::v1::Policy& response, Call& call);
  void SetIamPolicy(google::iam::v1::SetIamPolicyRequest& request,
                    google::iam::v1::Policy& response, Call& call);
  void TestIamPermissions(google::iam::v1::TestIamPermissionsRequest& request,
                          google::iam::v1::TestIamPermissionsResponse& response, Call& call);
  void BatchCreateTasks(tasks_v2::BatchCreateTasksRequest& request,
                        google::longrunning::Operation& response, Call& call);
  void BatchDeleteTasks(tasks_v2::BatchDeleteTasksRequest& request,
                        google::longrunning::Operation& response, Call& call);
  void UpdateCmekConfig(tasks_v2::UpdateCmekConfigRequest& request, tasks_v2::CmekConfig& response,
                        Call& call);
  void GetCmekConfig(tasks_v2::GetCmekConfigRequest& request, tasks_v2::CmekConfig& response,
                     Call& call);

 private:
  using Context = CallFlow::Context;

  void SubmitForQueue(const Context& context, engine::Command command, tasks_v2::Queue& response);
  void SubmitForTask(const Context& context, engine::Command command, TaskView view,
                     tasks_v2::Task& response);
  // A command that needs nothing but a queue's or a task's name.
  template <typename Command, typename Request>
  void QueueCall(const Method& method, Request& request, tasks_v2::Queue& response, Call& call);
  template <typename Command, typename Request>
  void TaskCall(const Method& method, Request& request, tasks_v2::Task& response, Call& call);

  // The steps of CreateTask after validation.
  void CompleteRetry(const Context& context, engine::CreateTask command, TaskView view,
                     tasks_v2::CreateTaskRequest& request, tasks_v2::Task& response);
  void SubmitNewTask(const Context& context, engine::CreateTask command, TaskView view,
                     tasks_v2::CreateTaskRequest& request, tasks_v2::Task& response);
  void Refuse(const Method& method, std::string_view resource, Call& call);

  engine::Engine* const engine_;
  env::Clock* const clock_;
  CallFlow flow_;
};

}  // namespace sluice::front
