// SPDX-License-Identifier: Apache-2.0
#pragma once

// The front's network side in one object: listening sockets, the listener, the
// gRPC server and the HTTP/1.1 server, started and stopped together. It holds no
// state of the product and knows neither a service nor a route.
//
//   ServerOptions options;                       // 127.0.0.1:8085, no TLS
//   SLUICE_ASSIGN_OR_RETURN(auto server, Server::Start(options, {&tasks}, &rest));
//   server->SetServing(true);                    // health checks say SERVING
//   ...
//   server->Stop();                              // drains
//
// Threading: all methods from any thread.
// Ownership: the services and the HTTP handler must outlive the server.
// Failure: Start fails as a whole and leaves nothing behind.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "front/net/grpc_server.h"
#include "front/net/http_server.h"
#include "front/net/listener.h"

namespace sluice::front::net {

inline constexpr const char* kDefaultListenAddress = "127.0.0.1:8085";

struct TlsFiles {
  std::string certificate_file;  ///< PEM, the server's certificate first, then its chain.
  std::string key_file;          ///< PEM, without a password.
};

struct ServerOptions {
  /// Port 0 lets the kernel choose; see Server::addresses().
  std::vector<std::string> listen = {kDefaultListenAddress};
  std::optional<TlsFiles> tls;
  /// Without it, addresses beyond this machine serve TLS only, and are refused
  /// when there is no certificate. Loopback addresses serve both always.
  bool is_remote_plaintext_allowed = false;
  ListenerOptions connections;
  GrpcOptions grpc;
  HttpOptions http;
  /// What open calls and requests get to finish in when the server stops.
  Duration drain_deadline = absl::Seconds(10);
};

class Server : private ConnectionSink {
 public:
  /// Serves when it returns.
  /// Errors: INVALID_ARGUMENT for an address or a TLS file; FAILED_PRECONDITION
  /// for an address that would serve other machines in plain text;
  /// ALREADY_EXISTS for a port in use; UNAVAILABLE for the system's limits.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                 const std::vector<GrpcService*>& services,
                                                 HttpHandler* handler);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  /// The bound addresses in the order they were given, with their real ports.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  /// The port of the first.
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// The answer of gRPC health checks; NOT_SERVING until told otherwise.
  void SetServing(bool is_serving) { grpc_->SetServing(is_serving); }

  [[nodiscard]] ListenerStats stats() const { return listener_->stats(); }

  /// Stops accepting, lets open calls and requests finish within the drain
  /// deadline, cancels the rest, closes everything. Idempotent; returns when done.
  void Stop();

 private:
  Server(const ServerOptions& options, std::unique_ptr<GrpcServer> grpc,
         std::unique_ptr<HttpServer> http);
  void Take(AcceptedConnection connection) override;

  const Duration drain_deadline_;
  std::vector<std::string> addresses_;
  std::uint16_t port_ = 0;
  // Destroyed from the last on: the listener feeds the other two.
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace sluice::front::net
