// SPDX-License-Identifier: Apache-2.0
#pragma once

// The methods of CloudTasks over protobuf messages, for both versions: each
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
// as in front/errors.h. UNIMPLEMENTED stands for what is not built; the tables in
// docs/reference/fields-tasks-v2.md and fields-tasks-v2beta3.md say which.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/commands.h"
#include "front/call_flow.h"
#include "front/call_gate.h"
#include "front/tasks/api.h"
#include "front/tasks/field_mask.h"
#include "front/tasks/task_codec.h"

namespace sluice::engine {
class Engine;
}
namespace sluice::env {
class Clock;
}

namespace sluice::front {

inline constexpr std::int32_t kQueuesPageMax = 9800;
inline constexpr std::int32_t kTasksPageMax = 1000;
/// A page of tasks ends early here: clients refuse messages over 4 MiB by default.
inline constexpr std::size_t kTasksPageBytesMax = 3u << 20;

struct TasksDependencies {
  engine::Engine* engine = nullptr;
  env::Clock* clock = nullptr;
  CallGate* gate = nullptr;          // absent: calls go straight through
  CallObserver* observer = nullptr;  // absent: nobody counts
};

template <typename Api>
class TasksService {
 public:
  explicit TasksService(const TasksDependencies& dependencies);
  TasksService(const TasksService&) = delete;
  TasksService& operator=(const TasksService&) = delete;

  /// Every method, for whoever counts or names them; the same objects that gate
  /// and observer see.
  [[nodiscard]] static std::span<const Method> Methods();

  // --- Queues ---
  void ListQueues(typename Api::ListQueuesRequest& request,
                  typename Api::ListQueuesResponse& response, Call& call);
  void GetQueue(typename Api::GetQueueRequest& request, typename Api::Queue& response, Call& call);
  void CreateQueue(typename Api::CreateQueueRequest& request, typename Api::Queue& response,
                   Call& call);
  void UpdateQueue(typename Api::UpdateQueueRequest& request, typename Api::Queue& response,
                   Call& call);
  void DeleteQueue(typename Api::DeleteQueueRequest& request, google::protobuf::Empty& response,
                   Call& call);
  void PurgeQueue(typename Api::PurgeQueueRequest& request, typename Api::Queue& response,
                  Call& call);
  void PauseQueue(typename Api::PauseQueueRequest& request, typename Api::Queue& response,
                  Call& call);
  void ResumeQueue(typename Api::ResumeQueueRequest& request, typename Api::Queue& response,
                   Call& call);

  // --- Tasks ---
  void ListTasks(typename Api::ListTasksRequest& request, typename Api::ListTasksResponse& response,
                 Call& call);
  void GetTask(typename Api::GetTaskRequest& request, typename Api::Task& response, Call& call);
  void CreateTask(typename Api::CreateTaskRequest& request, typename Api::Task& response,
                  Call& call);
  void DeleteTask(typename Api::DeleteTaskRequest& request, google::protobuf::Empty& response,
                  Call& call);
  void RunTask(typename Api::RunTaskRequest& request, typename Api::Task& response, Call& call);

  // --- Access policies: stored and told, not enforced (spec 6.2) ---
  void GetIamPolicy(google::iam::v1::GetIamPolicyRequest& request,
                    google::iam::v1::Policy& response, Call& call);
  void SetIamPolicy(google::iam::v1::SetIamPolicyRequest& request,
                    google::iam::v1::Policy& response, Call& call);
  void TestIamPermissions(google::iam::v1::TestIamPermissionsRequest& request,
                          google::iam::v1::TestIamPermissionsResponse& response, Call& call);
  // --- Answered with UNIMPLEMENTED, naming the method ---
  void BatchCreateTasks(typename Api::BatchCreateTasksRequest& request,
                        google::longrunning::Operation& response, Call& call);
  void BatchDeleteTasks(typename Api::BatchDeleteTasksRequest& request,
                        google::longrunning::Operation& response, Call& call);
  // --- Encryption keys: none, and none can be set ---
  void UpdateCmekConfig(typename Api::UpdateCmekConfigRequest& request,
                        typename Api::CmekConfig& response, Call& call);
  void GetCmekConfig(typename Api::GetCmekConfigRequest& request,
                     typename Api::CmekConfig& response, Call& call);

 private:
  using Context = CallFlow::Context;

  /// Tells what is known of `queues` (in name order) if `is_wanted`, else nothing;
  /// then `then(context, stats)`, still without those that are gone meanwhile.
  template <typename Then>
  void WithStats(const Context& context, bool is_wanted, std::vector<QueueName> queues, Then then);

  void SubmitForQueue(const Context& context, engine::Command command,
                      typename Api::Queue& response);
  void SubmitForTask(const Context& context, engine::Command command, TaskView view,
                     typename Api::Task& response);
  // A command that needs nothing but a queue's or a task's name.
  template <typename Command, typename Request>
  void QueueCall(const Method& method, Request& request, typename Api::Queue& response, Call& call);
  template <typename Command, typename Request>
  void TaskCall(const Method& method, Request& request, typename Api::Task& response, Call& call);

  // The steps of CreateTask after validation.
  void CompleteRetry(const Context& context, engine::CreateTask command, TaskView view,
                     typename Api::CreateTaskRequest& request, typename Api::Task& response);
  void SubmitNewTask(const Context& context, engine::CreateTask command, TaskView view,
                     typename Api::CreateTaskRequest& request, typename Api::Task& response);
  void Refuse(const Method& method, std::string_view resource, Call& call);

  engine::Engine* const engine_;
  env::Clock* const clock_;
  CallFlow flow_;
};

extern template class TasksService<ApiV2>;
extern template class TasksService<ApiV2Beta3>;

using TasksServiceV2 = TasksService<ApiV2>;
using TasksServiceV2Beta3 = TasksService<ApiV2Beta3>;

}  // namespace sluice::front
