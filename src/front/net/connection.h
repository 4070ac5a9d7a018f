// SPDX-License-Identifier: Apache-2.0
#pragma once

// A connection on its way from the listener to the server that will speak its
// protocol, and the place it takes among the connections the front allows.
//
// Threading: values move between threads; ConnectionPlaces is for any thread.
// Ownership: whoever holds the AcceptedConnection owns its descriptor and place.

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "front/net/listen_address.h"
#include "front/net/unique_fd.h"

namespace sluice::front::net {

/// Counts open connections against a maximum.
class ConnectionPlaces {
 public:
  /// `freed` runs on the releasing thread after each release.
  explicit ConnectionPlaces(std::function<void()> freed) : freed_(std::move(freed)) {}

  void Take() { taken_.fetch_add(1); }
  void Give() {
    taken_.fetch_sub(1);
    freed_();
  }
  [[nodiscard]] int taken() const { return taken_.load(); }

 private:
  std::atomic<int> taken_{0};
  const std::function<void()> freed_;
};

/// One place, given back on destruction. The shared owner is needed because an
/// HTTP connection may end after the listener that accepted it is gone.
class ConnectionPlace {
 public:
  ConnectionPlace() = default;
  explicit ConnectionPlace(std::shared_ptr<ConnectionPlaces> places) : places_(std::move(places)) {
    places_->Take();
  }
  ConnectionPlace(ConnectionPlace&&) noexcept = default;
  ConnectionPlace& operator=(ConnectionPlace&& other) noexcept {
    std::swap(places_, other.places_);
    return *this;
  }
  ConnectionPlace(const ConnectionPlace&) = delete;
  ConnectionPlace& operator=(const ConnectionPlace&) = delete;
  ~ConnectionPlace() {
    if (places_) places_->Give();
  }

 private:
  std::shared_ptr<ConnectionPlaces> places_;
};

enum class Protocol { kGrpc, kHttp1 };

struct AcceptedConnection {
  UniqueFd fd;
  int listener_fd = -1;  ///< The socket it came from; not owned.
  Protocol protocol = Protocol::kHttp1;
  bool is_tls = false;
  SocketAddress peer;
  /// Held by the HTTP server until it closes the connection. gRPC does not say
  /// when it closes one, so the listener keeps that place itself.
  ConnectionPlace place;
};

/// Where the listener leaves connections.
class ConnectionSink {
 public:
  virtual ~ConnectionSink() = default;
  /// Called on the listener's thread; must not block.
  virtual void Take(AcceptedConnection connection) = 0;
};

}  // namespace sluice::front::net
