// SPDX-License-Identifier: Apache-2.0
#pragma once

// Two places where somebody outside may stand in the way of every call: a gate
// that can delay, fail or drop it before it takes effect or after, for fault
// injection; and an observer that counts. Both are absent by default and then
// cost one null check.
//
// Threading: both are called from the transport's threads and from the lane, so
// they must be thread-safe and must not block. Ownership: they outlive the service.

#include <cstdint>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "base/status.h"

namespace sluice::front {

/// A method of a service; one constant object each, so its address is an identity.
struct Method {
  std::string_view service;  // "google.cloud.tasks.v2.CloudTasks"
  std::string_view name;     // "CreateTask"
};

/// What a gate learns about a call. `resource` is the name the request gives
/// (its parent for creations and listings), unchecked; valid until the call ends.
struct CallInfo {
  const Method* method = nullptr;
  std::string_view resource;
};

class CallGate {
 public:
  using Continue = absl::AnyInvocable<void(Status)>;

  virtual ~CallGate() = default;

  /// Before anything of the call was done. `proceed` runs once, now or later:
  /// with OK the call goes on, with an error it ends there, with DropCall() the
  /// transport breaks it off without an answer.
  virtual void Before(const CallInfo& call, Continue proceed) = 0;

  /// After the call has done its work, durably; `result` is what it came to.
  /// `finish` runs once: with OK the client gets the result, with anything else
  /// that, although the work stands.
  virtual void After(const CallInfo& call, const Status& result, Continue finish) = 0;
};

/// The status by which a gate asks that the client hears nothing but a broken call.
[[nodiscard]] Status DropCall();
[[nodiscard]] bool IsDropCall(const Status& status);

class CallObserver {
 public:
  virtual ~CallObserver() = default;

  /// A call came in. The value (a reading of the observer's own clock, say) is
  /// handed back at the end.
  virtual std::uint64_t Started(const Method& method) = 0;
  /// The call is about to be answered.
  virtual void Finished(const Method& method, std::uint64_t started, absl::StatusCode code) = 0;
};

/// One unary call as its transport holds it.
class Call {
 public:
  /// True when the client no longer waits. Asked before a command goes to the
  /// engine; afterwards a cancellation changes nothing.
  [[nodiscard]] virtual bool IsCancelled() const = 0;

  /// Ends the call, exactly once, from any thread: OK sends the response, an
  /// error that error, DropCall() breaks the call off. Request, response and the
  /// call itself may be gone when it returns.
  virtual void Finish(Status status) = 0;

 protected:
  ~Call() = default;
};

}  // namespace sluice::front
