// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fixed number of connections to one service. A connection carries about a
// hundred calls at once (the usual stream limit of HTTP/2 servers); more at once
// need more connections. Each channel has a connection of its own: gRPC would
// otherwise let channels with equal arguments share one.
//
// Threading: any thread. Ownership: a lease must not outlive its pool.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sluice/gcp/credentials.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sluice::gcp {

/// Where a service is and how to reach it.
struct ServiceAddress {
  std::string target;  // "host:port", as gRPC writes targets
  Credentials credentials;
};

class ChannelPool {
 public:
  enum class Choice : unsigned char { kLeastLoaded, kRoundRobin };

  /// Opens nothing: gRPC connects with the first call.
  /// Errors: INVALID_ARGUMENT when `channels` is below 1; those of MakeChannelCredentials.
  static StatusOr<std::unique_ptr<ChannelPool>> Make(const ServiceAddress& address, int channels,
                                                     Choice choice = Choice::kLeastLoaded);
  ~ChannelPool();

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel(std::size_t index) const;

  /// Picks a channel for one call and counts the call on it, until `Release`.
  std::size_t Acquire();
  void Release(std::size_t index);

 private:
  struct Slot;
  ChannelPool(std::vector<std::unique_ptr<Slot>> slots, Choice choice);

  std::vector<std::unique_ptr<Slot>> slots_;
  Choice choice_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace sluice::gcp
