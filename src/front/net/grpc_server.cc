// SPDX-License-Identifier: Apache-2.0
#include "front/net/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "front/net/grpc_health.h"

namespace sluice::front::net {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
using grpc::ServerBuilder;

// Reflection is gRPC's one synchronous service here: each open reflection
// stream holds a thread, so their number is bounded.
constexpr int kReflectionThreadsMax = 8;

int Millis(Duration d) {
  return static_cast<int>(std::clamp<std::int64_t>(absl::ToInt64Milliseconds(d), 0, INT32_MAX));
}

// What is global to the process; must come before the first builder.
void SetUpProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // Debian builds abseil with its search for lock-order cycles on, and gRPC locks
    // a dozen of its mutexes a call.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  });
}

// One thread serves the calls of two cores, and a second would only wake the first
// more often (docs/adr/0003).
int QueueThreads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, 8);
}

void SetChannelArguments(const GrpcOptions& options, ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.receive_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, options.metadata_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             Millis(options.handshake_deadline));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Millis(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Millis(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // our own: no maximum
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Millis(options.client_ping_interval_min));
}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsMaterial& tls) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({tls.private_key_pem, tls.certificate_chain_pem});
  return grpc::SslServerCredentials(options);
}

}  // namespace

struct GrpcServer::State {
  GrpcHealth health;
  std::unique_ptr<GrpcQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Acceptor> cleartext;
  std::unique_ptr<Acceptor> tls;
  std::once_flag shutdown;
};

StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcOptions& options,
                                                        const TlsMaterial* tls,
                                                        const std::vector<GrpcService*>& services) {
  SetUpProcess();
  ServerBuilder builder;
  SetChannelArguments(options, builder);
  grpc::ResourceQuota quota("sluice_front");
  quota.Resize(options.memory_bytes_max);
  quota.SetMaxThreads(kReflectionThreadsMax);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(ServerBuilder::MAX_POLLERS, 1);
  auto state = std::make_unique<State>();
  std::vector<GrpcService*> all = services;
  all.push_back(&state->health);
  for (GrpcService* service : all) service->Register(builder);
  state->queue = std::make_unique<GrpcQueue>(builder.AddCompletionQueue());

  constexpr auto kFromFd = ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;
  state->cleartext = builder.experimental().AddExternalConnectionAcceptor(
      kFromFd, grpc::InsecureServerCredentials());
  if (tls != nullptr) {
    state->tls =
        builder.experimental().AddExternalConnectionAcceptor(kFromFd, TlsCredentials(*tls));
  }
  state->server = builder.BuildAndStart();
  if (state->server == nullptr) {
    return InvalidArgument(
        "gRPC server did not start: it refuses the certificate, or a service is registered twice");
  }
  for (GrpcService* service : all) service->Listen(*state->queue);
  state->queue->Start(QueueThreads());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(state)));
}

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

void GrpcServer::Serve(AcceptedConnection connection) {
  Acceptor* const acceptor = connection.is_tls ? state_->tls.get() : state_->cleartext.get();
  SLUICE_CHECK(acceptor != nullptr, "a TLS connection was handed over without a certificate");
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = connection.listener_fd;
  parameters.fd = connection.fd.Release();
  acceptor->HandleNewConnection(&parameters);
}

void GrpcServer::SetServing(bool is_serving) { state_->health.SetServing(is_serving); }

void GrpcServer::Shutdown(Duration within) {
  std::call_once(state_->shutdown, [&] {
    state_->health.EndWatches();
    // The monotonic clock: an operator who sets the time must not cut a drain.
    const gpr_timespec span = gpr_time_from_millis(Millis(within), GPR_TIMESPAN);
    state_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span));
    state_->queue->Stop();
  });
}

}  // namespace sluice::front::net
