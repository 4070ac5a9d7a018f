// SPDX-License-Identifier: Apache-2.0
#pragma once

// The methods of CloudTasks, the same in both versions, as objects with an
// identity. Inline, so that every file sees the same ones.

#include <array>

#include "front/call_gate.h"
#include "front/tasks/api.h"

namespace sluice::front {

/// Positions in kTasksMethods, in the order of the service's definition.
enum TasksMethod : std::size_t {
  kListQueues,
  kGetQueue,
  kCreateQueue,
  kUpdateQueue,
  kDeleteQueue,
  kPurgeQueue,
  kPauseQueue,
  kResumeQueue,
  kGetIamPolicy,
  kSetIamPolicy,
  kTestIamPermissions,
  kListTasks,
  kGetTask,
  kCreateTask,
  kBatchCreateTasks,
  kDeleteTask,
  kBatchDeleteTasks,
  kRunTask,
  kUpdateCmekConfig,
  kGetCmekConfig,
  kTasksMethodCount,
};

template <typename Api>
inline constexpr std::array<Method, kTasksMethodCount> kTasksMethods{{
    {Api::kService, "ListQueues"},
    {Api::kService, "GetQueue"},
    {Api::kService, "CreateQueue"},
    {Api::kService, "UpdateQueue"},
    {Api::kService, "DeleteQueue"},
    {Api::kService, "PurgeQueue"},
    {Api::kService, "PauseQueue"},
    {Api::kService, "ResumeQueue"},
    {Api::kService, "GetIamPolicy"},
    {Api::kService, "SetIamPolicy"},
    {Api::kService, "TestIamPermissions"},
    {Api::kService, "ListTasks"},
    {Api::kService, "GetTask"},
    {Api::kService, "CreateTask"},
    {Api::kService, "BatchCreateTasks"},
    {Api::kService, "DeleteTask"},
    {Api::kService, "BatchDeleteTasks"},
    {Api::kService, "RunTask"},
    {Api::kService, "UpdateCmekConfig"},
    {Api::kService, "GetCmekConfig"},
}};

}  // namespace sluice::front
