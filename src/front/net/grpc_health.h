// SPDX-License-Identifier: Apache-2.0
#pragma once

// grpc.health.v1.Health on our queue. gRPC's own is a callback service, and one such
// service brings the threads that grpc_queue.h is there to avoid.
//
// Knows one name, the empty one: the server as a whole. Check of another: NOT_FOUND;
// Watch of one says SERVICE_UNKNOWN and goes on, as the protocol asks.
//
// Threading: SetServing and EndWatches from any thread.
// Ownership: outlives the server; GrpcQueue::Stop waits for its calls.

#include <memory>

#include "front/net/grpc_queue.h"

namespace sluice::front::net {

class GrpcHealth final : public GrpcService {
 public:
  GrpcHealth();
  ~GrpcHealth() override;

  void Register(grpc::ServerBuilder& builder) override;
  void Listen(GrpcQueue& queue) override;

  /// Told to open watches, and the answer from now on; NOT_SERVING at first.
  void SetServing(bool is_serving);
  /// Ends open watches, after they heard the last change, and new ones at once.
  void EndWatches();

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace sluice::front::net
