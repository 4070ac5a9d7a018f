// SPDX-License-Identifier: Apache-2.0
#pragma once

// The methods of google.cloud.tasks.v2.CloudTasks as objects with an identity.
// Inline, so that every file sees the same ones.

#include <array>

#include "front/call_gate.h"

namespace sluice::front {

/// Positions in kTasksV2Methods, in the order of the service's definition.
enum TasksV2Method : std::size_t {
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
  kTasksV2MethodCount,
};

inline constexpr std::string_view kTasksV2Service = "google.cloud.tasks.v2.CloudTasks";

inline constexpr std::array<Method, kTasksV2MethodCount> kTasksV2Methods{{
    {kTasksV2Service, "ListQueues"},
    {kTasksV2Service, "GetQueue"},
    {kTasksV2Service, "CreateQueue"},
    {kTasksV2Service, "UpdateQueue"},
    {kTasksV2Service, "DeleteQueue"},
    {kTasksV2Service, "PurgeQueue"},
    {kTasksV2Service, "PauseQueue"},
    {kTasksV2Service, "ResumeQueue"},
    {kTasksV2Service, "GetIamPolicy"},
    {kTasksV2Service, "SetIamPolicy"},
    {kTasksV2Service, "TestIamPermissions"},
    {kTasksV2Service, "ListTasks"},
    {kTasksV2Service, "GetTask"},
    {kTasksV2Service, "CreateTask"},
    {kTasksV2Service, "BatchCreateTasks"},
    {kTasksV2Service, "DeleteTask"},
    {kTasksV2Service, "BatchDeleteTasks"},
    {kTasksV2Service, "RunTask"},
    {kTasksV2Service, "UpdateCmekConfig"},
    {kTasksV2Service, "GetCmekConfig"},
}};

}  // namespace sluice::front
