// SPDX-License-Identifier: Apache-2.0
#pragma once

// What of google.cloud.tasks.v2beta3.CloudTasks is served so far: GetQueue, which
// clients of v2 also call, since only this version tells how long a used name
// stays reserved (tombstone_ttl). Every other method is UNIMPLEMENTED.
//
// Threading: calls from any thread, answers on the engine's lane.
// Ownership: engine, gate and observer outlive it; it outlives its calls.

#include <span>

#include "front/call_flow.h"
#include "front/call_gate.h"
#include "google/cloud/tasks/v2beta3/cloudtasks.pb.h"

namespace sluice::engine {
class Engine;
}

namespace sluice::front {

class TasksServiceV2Beta3 {
 public:
  TasksServiceV2Beta3(engine::Engine* engine, CallGate* gate, CallObserver* observer)
      : engine_(engine), flow_(gate, observer) {}
  TasksServiceV2Beta3(const TasksServiceV2Beta3&) = delete;
  TasksServiceV2Beta3& operator=(const TasksServiceV2Beta3&) = delete;

  [[nodiscard]] static std::span<const Method> Methods();

  /// `read_mask` picks fields of the answer; without one all but stats are given.
  /// Errors beside those of v2: UNIMPLEMENTED for a mask that asks for stats,
  /// INVALID_ARGUMENT for one that names no field.
  void GetQueue(google::cloud::tasks::v2beta3::GetQueueRequest& request,
                google::cloud::tasks::v2beta3::Queue& response, Call& call);

 private:
  engine::Engine* const engine_;
  CallFlow flow_;
};

}  // namespace sluice::front
