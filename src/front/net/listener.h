// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one thread that accepts: it takes connections from all listening sockets,
// looks at their first bytes (connection_peek.h) without consuming them, and
// leaves each with the sink that serves its protocol. It speaks no protocol.
//
// Everything is bounded. A connection is *pending* until its first bytes decide;
// a pending one that stays silent past the deadline is closed, and when too many
// are pending the oldest makes room for the newest. When all places are taken
// the listener stops accepting, and clients wait in the kernel's backlog. When
// the process has no descriptor left, connections are accepted on a spare one
// and closed, since leaving them in the backlog would wake the thread for ever.
//
// Threading: Start, Stop and stats() from any thread; the sink is called on the
// listener's own thread.
// Ownership: owns the listening sockets and all pending connections. The sink
// must outlive it.
// Failure: trouble with one connection closes that connection; see stats().

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "front/net/connection.h"
#include "front/net/unique_fd.h"

namespace sluice::front::net {

struct ListenerOptions {
  /// Open connections of both protocols, pending ones included.
  int connections_max = 10'000;
  /// Connections whose protocol is not known yet.
  int pending_max = 512;
  /// From accept to a decision.
  Duration pending_deadline = absl::Seconds(10);
};

struct ListenSocket {
  UniqueFd fd;
  bool is_cleartext_allowed = true;
  bool is_tls_allowed = false;
};

/// Counters since start, except `open` and `pending`.
struct ListenerStats {
  std::int64_t accepted = 0;
  std::int64_t grpc = 0;             ///< Handed to gRPC.
  std::int64_t http1 = 0;            ///< Handed to HTTP/1.1.
  std::int64_t refused = 0;          ///< First bytes of no protocol, or one not allowed here.
  std::int64_t pending_expired = 0;  ///< Closed at the pending deadline.
  std::int64_t pending_evicted = 0;  ///< Closed to make room for a newer one.
  std::int64_t pending_hung_up = 0;  ///< Closed by the peer before a decision.
  std::int64_t out_of_descriptors = 0;
  std::int64_t wakeups = 0;  ///< Rounds of the thread; shows a spinning loop.
  std::int64_t open = 0;
  std::int64_t pending = 0;
};

class Listener {
 public:
  /// Errors: UNAVAILABLE when the kernel gives no epoll or event descriptor.
  static StatusOr<std::unique_ptr<Listener>> Start(std::vector<ListenSocket> sockets,
                                                   const ListenerOptions& options,
                                                   ConnectionSink* sink);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Closes the listening sockets and all pending connections; connections
  /// already with the sink are not touched. The sink is not called after return.
  void Stop();

  [[nodiscard]] ListenerStats stats() const;

 private:
  class Loop;
  explicit Listener(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::front::net
