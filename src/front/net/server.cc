// SPDX-License-Identifier: Apache-2.0
#include "front/net/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::front::net {
namespace {

StatusOr<std::vector<ListenSocket>> Bind(const ServerOptions& options) {
  if (options.listen.empty()) return InvalidArgument("no listen address is given");
  std::vector<ListenSocket> sockets;
  for (const std::string& text : options.listen) {
    SLUICE_ASSIGN_OR_RETURN(const SocketAddress address, SocketAddress::Parse(text));
    const bool is_cleartext_allowed = address.IsLoopback() || options.is_remote_plaintext_allowed;
    if (!is_cleartext_allowed && !options.tls) {
      return FailedPrecondition(
          "listen address {} is reachable from other machines and no TLS certificate is "
          "configured; configure one, listen on a loopback address, or allow plain text for "
          "other machines explicitly",
          text);
    }
    SLUICE_ASSIGN_OR_RETURN(UniqueFd fd, BindAndListen(address));
    sockets.push_back({std::move(fd), is_cleartext_allowed, options.tls.has_value()});
  }
  return sockets;
}

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                const std::vector<GrpcService*>& services,
                                                HttpHandler* handler) {
  std::optional<TlsMaterial> tls;
  if (options.tls) {
    SLUICE_ASSIGN_OR_RETURN(
        tls, TlsMaterial::Load(options.tls->certificate_file, options.tls->key_file));
  }
  const TlsMaterial* const material = tls ? &*tls : nullptr;
  // Binding comes first: a port in use is the mistake people make most.
  SLUICE_ASSIGN_OR_RETURN(std::vector<ListenSocket> sockets, Bind(options));
  SLUICE_ASSIGN_OR_RETURN(auto http, HttpServer::Start(options.http, material, handler));
  SLUICE_ASSIGN_OR_RETURN(auto grpc, GrpcServer::Start(options.grpc, material, services));

  std::unique_ptr<Server> server(new Server(options, std::move(grpc), std::move(http)));
  for (const ListenSocket& socket : sockets) {
    SLUICE_ASSIGN_OR_RETURN(const SocketAddress bound, BoundAddress(socket.fd.get()));
    if (server->addresses_.empty()) server->port_ = bound.Port();
    server->addresses_.push_back(bound.ToString());
  }
  SLUICE_ASSIGN_OR_RETURN(server->listener_,
                          Listener::Start(std::move(sockets), options.connections, server.get()));
  return server;
}

Server::Server(const ServerOptions& options, std::unique_ptr<GrpcServer> grpc,
               std::unique_ptr<HttpServer> http)
    : drain_deadline_(options.drain_deadline), grpc_(std::move(grpc)), http_(std::move(http)) {}

Server::~Server() { Stop(); }

void Server::Take(AcceptedConnection connection) {
  if (connection.protocol == Protocol::kGrpc) {
    grpc_->Serve(std::move(connection));
  } else {
    http_->Serve(std::move(connection));
  }
}

void Server::Stop() {
  if (listener_ == nullptr) return;  // Start failed half way
  using SteadyClock = std::chrono::steady_clock;
  const auto begin = SteadyClock::now();
  // Watchers of the health service learn it before their stream ends.
  grpc_->SetServing(false);
  listener_->Stop();
  // Both drain at the same time: HTTP in its thread, gRPC in this call.
  http_->BeginDrain();
  grpc_->Shutdown(drain_deadline_);
  const Duration spent = absl::FromChrono(SteadyClock::now() - begin);
  http_->Stop(std::max(drain_deadline_ - spent, absl::ZeroDuration()));
}

}  // namespace sluice::front::net
