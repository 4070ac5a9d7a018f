// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gRPC server behind our listener. It has no port: connections come through
// gRPC's external connection acceptors, which are an experimental part of its
// API and therefore touched in grpc_server.cc alone (docs/adr/0002). Health
// checking (grpc.health.v1) and reflection are always served.
//
// Threading: Serve, SetServing and Shutdown from any thread. A few threads of ours
// run the services (grpc_queue.h).
// Ownership: owns its connections; the services must outlive it.
// Failure: trouble with a connection closes that connection.

#include <memory>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "front/net/connection.h"
#include "front/net/grpc_queue.h"
#include "front/net/tls.h"

namespace sluice::front::net {

struct GrpcOptions {
  int receive_bytes_max = 4 * 1024 * 1024;
  int metadata_bytes_max = 16 * 1024;
  /// Calls and streams open at once on one connection. Clients of streaming pull
  /// open one stream for each subscription over one connection.
  int streams_max = 10'000;
  /// Memory gRPC may use for its buffers before it stops reading.
  std::size_t memory_bytes_max = std::size_t{512} * 1024 * 1024;
  /// From hand-over to a finished TLS and HTTP/2 handshake.
  Duration handshake_deadline = absl::Seconds(10);
  /// A connection silent for this long is pinged, and closed when the answer
  /// does not come within the timeout: how vanished clients are found.
  Duration keepalive_time = absl::Seconds(60);
  Duration keepalive_timeout = absl::Seconds(20);
  /// Clients may ping this often, also without an open call; gRPC's default of
  /// five minutes makes it hang up on clients that keep idle connections alive.
  Duration client_ping_interval_min = absl::Seconds(5);
};

class GrpcServer {
 public:
  /// `tls` may be null: TLS connections must not be handed over then.
  /// Errors: INVALID_ARGUMENT when gRPC refuses the services or the certificate.
  static StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcOptions& options,
                                                     const TlsMaterial* tls,
                                                     const std::vector<GrpcService*>& services);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  /// Takes the connection over.
  /// Requires: Shutdown has not begun.
  void Serve(AcceptedConnection connection);

  /// What health checks answer for the whole server; NOT_SERVING at first.
  void SetServing(bool is_serving);

  /// Refuses new calls, lets open ones finish for at most `within`, cancels the
  /// rest and waits until the services have finished them. Idempotent.
  /// Requires: services finish calls soon after their cancellation.
  void Shutdown(Duration within);

 private:
  struct State;
  explicit GrpcServer(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace sluice::front::net
