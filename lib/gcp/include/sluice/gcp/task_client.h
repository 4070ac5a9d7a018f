// SPDX-License-Identifier: Apache-2.0
#pragma once

// CreateTask of google.cloud.tasks.v2, asynchronous, each call sent once: when
// and how often to try again is the caller's matter. Requests go through as bytes;
// the answer's body is not looked at, since only its status matters to a sink.
//
// Threading: any thread; callbacks run on gRPC's threads and must not block.
// Ownership: shares its pool. `Close` before destruction, else the destructor
// closes with a zero limit. Never destroy it, nor the pool's last reference, in a callback.
// Failure: a call ends with the status of the service or of gRPC, once.

#include <memory>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "base/status.h"
#include "base/time.h"
#include "sluice/gcp/channel_pool.h"

namespace sluice::gcp {

inline constexpr Duration kCreateTimeoutDefault = absl::Seconds(20);
inline constexpr Duration kCloseLimitDefault = absl::Seconds(30);

/// One call under way.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  /// Asks for the end; the callback still comes, once, usually with CANCELLED. The
  /// service may have created the task all the same.
  virtual void Cancel() = 0;
};

class TaskClient {
 public:
  using Done = absl::AnyInvocable<void(Status)>;

  explicit TaskClient(std::shared_ptr<ChannelPool> pool);
  TaskClient(const TaskClient&) = delete;
  TaskClient& operator=(const TaskClient&) = delete;
  ~TaskClient();

  /// Sends `request`, a serialized google.cloud.tasks.v2.CreateTaskRequest whose
  /// parent is `queue`. The deadline is `timeout` from now by the monotonic clock, so that
  /// a step of the wall clock neither cuts nor stretches it. `done` comes exactly
  /// once; with UNAVAILABLE, and before this returns, after `Close`.
  std::shared_ptr<PendingCall> CreateTask(std::string_view queue, std::string_view request,
                                          Duration timeout, Done done);

  /// Takes no more calls and waits for those under way; after `limit` cancels the
  /// rest. Returns how many had to be cancelled: more than 0 is worth a warning.
  std::size_t Close(Duration limit = kCloseLimitDefault);

 private:
  class Call;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::gcp
