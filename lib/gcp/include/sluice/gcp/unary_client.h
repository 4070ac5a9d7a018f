// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls of one request and one answer, asynchronous, each sent once: when and how
// often to try again is the caller's matter. Requests go through as bytes; the
// answer's body is not looked at, since only its status matters to a sink.
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

/// A method of a service, and the field of its request that Google's front ends route by.
struct Method {
  const char* path;
  std::string_view routing_key;
};
inline constexpr Method kCreateTask{"/google.cloud.tasks.v2.CloudTasks/CreateTask", "parent"};
inline constexpr Method kPublish{"/google.pubsub.v1.Publisher/Publish", "topic"};

inline constexpr Duration kCreateTimeoutDefault = absl::Seconds(20);
inline constexpr Duration kCloseLimitDefault = absl::Seconds(30);

/// One call under way.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  /// Asks for the end; the callback still comes, once, usually with CANCELLED. The
  /// service may have done its part all the same.
  virtual void Cancel() = 0;
};

class UnaryClient {
 public:
  using Done = absl::AnyInvocable<void(Status)>;

  explicit UnaryClient(std::shared_ptr<ChannelPool> pool);
  UnaryClient(const UnaryClient&) = delete;
  UnaryClient& operator=(const UnaryClient&) = delete;
  ~UnaryClient();

  /// Sends `request`, the serialized request of `method` whose field `routing_key` is
  /// `resource`. The deadline is `timeout` from now by the monotonic clock, so that
  /// a step of the wall clock neither cuts nor stretches it. `done` comes exactly
  /// once; with UNAVAILABLE, and before this returns, after `Close`.
  std::shared_ptr<PendingCall> Send(const Method& method, std::string_view resource,
                                    std::string_view request, Duration timeout, Done done);

  /// Takes no more calls and waits for those under way; after `limit` cancels the
  /// rest. Returns how many had to be cancelled: more than 0 is worth a warning.
  std::size_t Close(Duration limit = kCloseLimitDefault);

 private:
  class Call;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::gcp
