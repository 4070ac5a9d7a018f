// SPDX-License-Identifier: Apache-2.0
#pragma once

// The step from a validated request to the engine and back, shared by the task
// services of all API versions.
//
// Threading: Submit on the caller's thread; what follows it on the engine's lane.

#include <string_view>
#include <utility>
#include <variant>

#include "base/status.h"
#include "engine/commands.h"
#include "engine/engine.h"
#include "front/call_flow.h"
#include "front/tasks/names.h"

namespace sluice::front {

/// The resource an error is about, as the request names it.
struct Subject {
  std::string_view type;
  std::string_view name;
};

/// The member of a reply that its command promises (engine/commands.h).
template <typename T>
T& Expect(engine::Result& result) {
  T* value = std::get_if<T>(&result);
  SLUICE_CHECK(value != nullptr, "the engine answered with another type than the command's");
  return *value;
}

/// Hands a command to the engine unless the client is gone. A failure ends the
/// call, with the resource that `subject_of(code)` names; after success
/// `then(context, result)` must end it.
template <typename SubjectOf, typename Then>
void SubmitCommand(engine::Engine& engine, CallFlow& flow, const CallFlow::Context& context,
                   engine::Command command, SubjectOf subject_of, Then then) {
  if (context.call->IsCancelled()) {
    return flow.End(context, Cancelled("{}: the client went away before the call was carried out",
                                       context.method->name));
  }
  engine.Submit(std::move(command), [&flow, context, subject_of = std::move(subject_of),
                                     then = std::move(then)](engine::Reply reply) mutable {
    if (!reply.ok()) {
      const Subject subject = subject_of(reply.status().code());
      return flow.End(context, AboutResource(reply.status(), subject.type, subject.name));
    }
    then(context, *reply);
  });
}

/// The same where every failure is about one resource, the call's.
template <typename Then>
void SubmitCommand(engine::Engine& engine, CallFlow& flow, const CallFlow::Context& context,
                   engine::Command command, std::string_view type, Then then) {
  SubmitCommand(
      engine, flow, context, std::move(command),
      [type, name = context.resource](absl::StatusCode) {
        return Subject{type, name};
      },
      std::move(then));
}

}  // namespace sluice::front
