// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole server as one object: makes the parts from the settings, connects
// them, and takes them apart in the one order that loses nothing. It decides
// nothing else.
//
// Threading: Start, Reload and Stop from one thread.
// Ownership: logger, clock and file system outlive it.
// Failure: Start fails as a whole and leaves nothing behind but the data.

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "admin/http_api.h"
#include "admin/logging.h"
#include "admin/queue_apply.h"
#include "admin/rpc_metrics.h"
#include "cli/data_directory.h"
#include "cli/exit_code.h"
#include "cli/http_routes.h"
#include "cli/settings.h"
#include "dispatch/task_dispatcher.h"
#include "dispatch/tokens/token_issuer.h"
#include "engine/engine.h"
#include "env/posix/file_system.h"
#include "env/posix/thread_executor.h"
#include "env/virtual_clock.h"
#include "front/net/server.h"
#include "front/tasks/locations.h"
#include "front/tasks/service.h"

namespace sluice::admin {
class AttemptLog;
class FaultInjector;
}  // namespace sluice::admin
namespace sluice::env {
class SimFileSystem;
}  // namespace sluice::env

namespace sluice::cli {

class Server {
 public:
  /// Serves when it returns. Failures: kUsage for settings that cannot work,
  /// kDataInUse, kDataDamaged, else kFailure.
  static std::variant<std::unique_ptr<Server>, Failure> Start(const Settings& settings,
                                                              admin::Logger& log,
                                                              env::Clock& system_clock,
                                                              env::FileSystem& files);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Applies the declared queues; server options stay as they were at start.
  void Reload(const Settings& settings);

  /// Takes no new calls, lets calls and attempts under way finish within the
  /// grace, makes everything durable. Idempotent.
  void Stop();

  [[nodiscard]] const std::vector<std::string>& addresses() const { return net_->addresses(); }
  [[nodiscard]] std::uint16_t port() const { return net_->port(); }
  [[nodiscard]] const log::RecoveryReport& recovery() const { return recovery_; }
  [[nodiscard]] const admin::ApplyReport& applied() const { return applied_; }

 private:
  Server(const Settings& settings, admin::Logger& log, env::Clock& system_clock,
         env::FileSystem& files);

  std::optional<Failure> OpenEngine();
  std::optional<Failure> OpenTokens();
  std::optional<Failure> OpenData(engine::Engine::Dependencies* dependencies);
  std::optional<Failure> ApplyDeclaredQueues(const admin::Config& config);
  std::optional<Failure> OpenFront();
  void LetTokensGo();
  admin::MetricsInput Figures() const;

  const admin::ServerOptions options_;
  admin::Logger& log_;
  env::Clock& system_clock_;
  env::FileSystem& files_;
  const Time start_time_;
  log::RecoveryReport recovery_;
  admin::ApplyReport applied_;
  bool is_stopped_ = false;

  // In the order in which they are made; each may use those above it.
  std::unique_ptr<env::SimFileSystem> memory_files_;  // with in_memory
  std::optional<DataDirectory> data_;                 // without
  std::unique_ptr<env::VirtualClock> virtual_clock_;  // with virtual_time
  env::Clock* clock_;                                 // of the engine and the front
  std::unique_ptr<env::ThreadExecutor> log_executor_;
  std::unique_ptr<env::ThreadExecutor> attempt_writer_;
  std::unique_ptr<dispatch::TokenIssuer> issuer_;
  std::promise<void> issuer_known_;
  bool is_issuer_known_ = false;
  std::unique_ptr<dispatch::TaskDispatcher> dispatcher_;
  std::unique_ptr<env::ThreadExecutor> token_worker_;
  std::unique_ptr<admin::AttemptLog> attempt_log_;
  std::unique_ptr<engine::Engine> engine_;
  env::VirtualClock::Registration clock_registration_;
  std::unique_ptr<admin::FaultInjector> faults_;
  admin::RpcMetrics rpc_metrics_;
  std::unique_ptr<env::ThreadExecutor> worker_;
  std::unique_ptr<env::ThreadExecutor> backup_worker_;
  std::unique_ptr<admin::HttpApi> api_;
  std::unique_ptr<front::TasksServiceV2> tasks_;
  std::unique_ptr<front::LocationsService> locations_;
  std::unique_ptr<front::net::GrpcService> locations_grpc_;
  std::unique_ptr<front::TasksServiceV2Beta3> tasks_beta_;
  std::unique_ptr<front::net::GrpcService> tasks_beta_grpc_;
  std::unique_ptr<front::RestApi> rest_;
  std::unique_ptr<admin::IssuerApi> issuer_api_;
  std::unique_ptr<HttpRoutes> routes_;
  std::unique_ptr<front::net::GrpcService> tasks_grpc_;
  std::unique_ptr<front::net::Server> net_;
};

}  // namespace sluice::cli
