// SPDX-License-Identifier: Apache-2.0
#include "cli/server.h"

#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <random>
#include <utility>

#include "admin/attempt_log.h"
#include "admin/faults.h"
#include "cli/descriptor_limit.h"
#include "cli/process_figures.h"
#include "cli/version.h"
#include "env/sim/file_system.h"
#include "front/rest/tasks_rest.h"
#include "front/tasks/grpc.h"
#include "store/model_store.h"
#include "store/rocksdb_store.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kMemoryLogDir = "log";

/// A number nobody can foresee, for names that must never repeat.
std::uint64_t Unforeseeable() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

ExitCode DataExitCode(const Status& status) {
  const bool is_damage = absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
  return is_damage ? ExitCode::kDataDamaged : ExitCode::kFailure;
}

dispatch::HttpClient::Options DispatchOptions(const admin::ServerOptions& options) {
  dispatch::HttpClient::Options dispatch;
  dispatch.transfer.is_tls_verified = !options.dispatch_skip_tls_verification;
  dispatch.transfer.redirects_max = options.dispatch_follow_redirects ? dispatch::kRedirectsMax : 0;
  dispatch.in_flight_max =
      static_cast<std::size_t>(options.limits.in_flight_max) + kForcedAttemptsMax;
  return dispatch;
}

dispatch::TargetOptions TargetOptions(const admin::ServerOptions& options) {
  dispatch::TargetOptions targets;
  StatusOr<dispatch::AppEngineTable> table =
      dispatch::MakeAppEngineTable(options.app_engine_targets);
  SLUICE_CHECK(table.ok(), "the option was checked when it was set");
  targets.app_engine = *std::move(table);
  targets.app_engine_deadline = options.app_engine_dispatch_deadline;
  targets.empty_override_clears = options.dispatch_empty_override_clears;
  return targets;
}

// Both versions' methods have the same names, and a fault rule means both.
std::vector<std::string> MethodNames() {
  std::vector<std::string> names;
  for (const auto methods :
       {front::TasksServiceV2::Methods(), front::LocationsService::Methods()}) {
    for (const front::Method& method : methods) names.emplace_back(method.name);
  }
  return names;
}

void LogApplied(const admin::ApplyReport& report, admin::Logger& log) {
  for (const admin::QueueChange& change : report.changes) {
    const bool is_new = change.kind == admin::QueueChange::Kind::kCreated;
    log.Info(is_new ? "queue_created" : "queue_updated",
             {{"queue", change.name.ToString()},
              {"changes", fmt::format("{}", fmt::join(change.details, ", "))}});
  }
  for (const std::string& failure : report.failures) {
    log.Error("queue_not_applied", {{"reason", failure}});
  }
}

}  // namespace

Server::Server(const Settings& settings, admin::Logger& log, env::Clock& system_clock,
               env::FileSystem& files)
    : options_(settings.options),
      log_(log),
      system_clock_(system_clock),
      files_(files),
      start_time_(system_clock.Now()),
      clock_(&system_clock),
      rpc_metrics_({front::TasksServiceV2::Methods(), front::TasksServiceV2Beta3::Methods(),
                    front::LocationsService::Methods()}) {}

Server::~Server() { Stop(); }

std::variant<std::unique_ptr<Server>, Failure> Server::Start(const Settings& settings,
                                                             admin::Logger& log,
                                                             env::Clock& system_clock,
                                                             env::FileSystem& files) {
  std::unique_ptr<Server> server(new Server(settings, log, system_clock, files));
  if (auto failure = server->OpenEngine()) return *std::move(failure);
  if (auto failure = server->ApplyDeclaredQueues(settings.config)) return *std::move(failure);
  if (auto failure = server->OpenFront()) return *std::move(failure);
  return server;
}

std::optional<Failure> Server::OpenData(engine::Engine::Dependencies* dependencies) {
  if (options_.in_memory) {
    memory_files_ = std::make_unique<env::SimFileSystem>(/*seed=*/0);
    dependencies->files = memory_files_.get();
    dependencies->log_dir = std::string(kMemoryLogDir);
    dependencies->store = std::make_unique<store::ModelStore>();
    const Status status = memory_files_->CreateDirectory(dependencies->log_dir);
    SLUICE_CHECK(status.ok(), Message(status));
    return std::nullopt;
  }
  auto opened = DataDirectory::Open(files_, options_.data_dir);
  if (auto* failure = std::get_if<Failure>(&opened)) return std::move(*failure);
  data_.emplace(std::get<DataDirectory>(std::move(opened)));
  StatusOr<std::unique_ptr<store::Store>> store = store::OpenRocksDb({.path = data_->store_dir()});
  if (!store.ok()) {
    const ExitCode code = absl::IsFailedPrecondition(store.status()) ? ExitCode::kDataInUse
                                                                     : DataExitCode(store.status());
    return Failure{code, fmt::format("store {}: {}", data_->store_dir(), Message(store.status()))};
  }
  dependencies->files = &files_;
  dependencies->log_dir = data_->log_dir();
  dependencies->store = *std::move(store);
  return std::nullopt;
}

std::optional<Failure> Server::OpenTokens() {
  dispatch::KeyRing::Options keys;
  keys.life_time = options_.tokens_key_lifetime;
  if (data_.has_value()) {
    keys.files = &files_;
    keys.path = data_->signing_keys_path();
  }
  StatusOr<std::unique_ptr<dispatch::KeyRing>> ring = dispatch::KeyRing::Open(std::move(keys));
  if (!ring.ok()) return Failure{DataExitCode(ring.status()), std::string(Message(ring.status()))};
  issuer_ = std::make_unique<dispatch::TokenIssuer>(
      dispatch::TokenIssuer::Dependencies{*std::move(ring), &system_clock_});
  token_worker_ = std::make_unique<env::ThreadExecutor>();
  // Tasks that are due at the start wait until the issuer's address is known.
  token_worker_->Post([known = issuer_known_.get_future().share()] { known.wait(); });
  return std::nullopt;
}

void Server::LetTokensGo() {
  if (!std::exchange(is_issuer_known_, true)) issuer_known_.set_value();
}

std::optional<Failure> Server::OpenEngine() {
  engine::Engine::Dependencies dependencies;
  if (auto failure = OpenData(&dependencies)) return failure;
  if (auto failure = OpenTokens()) return failure;
  if (options_.virtual_time) {
    virtual_clock_ = std::make_unique<env::VirtualClock>(start_time_);
    clock_ = virtual_clock_.get();
  }
  log_executor_ = std::make_unique<env::ThreadExecutor>();
  dispatcher_ = std::make_unique<dispatch::TaskDispatcher>(
      DispatchOptions(options_), TargetOptions(options_),
      dispatch::DispatchTokens{issuer_.get(), token_worker_.get()});
  dependencies.clock = clock_;
  attempt_writer_ = std::make_unique<env::ThreadExecutor>();
  attempt_log_ =
      std::make_unique<admin::AttemptLog>(dispatcher_.get(), attempt_writer_.get(), &log_);
  dependencies.dispatcher = attempt_log_.get();
  dependencies.random_seed = Unforeseeable();

  engine::Options engine;
  engine.limits = options_.limits;
  engine.log.durability = options_.durability;
  engine.log.executor = log_executor_.get();
  engine.log.clock = &system_clock_;
  engine.log.new_log_id = Unforeseeable();
  engine.log.accept_loss_at = options_.accept_log_loss;
  StatusOr<std::unique_ptr<engine::Engine>> opened =
      engine::Engine::Open(engine, std::move(dependencies), &recovery_);
  if (!opened.ok()) {
    const std::string where = options_.in_memory ? "memory" : options_.data_dir;
    return Failure{DataExitCode(opened.status()),
                   fmt::format("data in {}: {}", where, Message(opened.status()))};
  }
  engine_ = *std::move(opened);
  if (virtual_clock_ != nullptr) {
    clock_registration_ = virtual_clock_->OnAdvance([this] { engine_->ClockMoved(); });
  }
  return std::nullopt;
}

std::optional<Failure> Server::ApplyDeclaredQueues(const admin::Config& config) {
  applied_ = admin::ApplyQueues(config, *engine_);
  LogApplied(applied_, log_);
  if (applied_.failures.empty()) return std::nullopt;
  return Failure{ExitCode::kFailure, fmt::format("{}", fmt::join(applied_.failures, "\n"))};
}

std::optional<Failure> Server::OpenFront() {
  if (options_.enable_fault_injection) {
    faults_ = std::make_unique<admin::FaultInjector>(options_.fault_seed, MethodNames());
  }
  worker_ = std::make_unique<env::ThreadExecutor>();
  backup_worker_ = std::make_unique<env::ThreadExecutor>();

  admin::HttpApi::Dependencies api;
  api.engine = engine_.get();
  api.clock = clock_;
  api.virtual_clock = virtual_clock_.get();
  api.faults = faults_.get();
  api.figures = [this] { return Figures(); };
  api.worker = worker_.get();
  api.backup_worker = backup_worker_.get();
  api.log = &log_;
  api_ = std::make_unique<admin::HttpApi>(std::move(api));

  const front::TasksDependencies tasks{engine_.get(), clock_, faults_.get(), &rpc_metrics_};
  tasks_ = std::make_unique<front::TasksServiceV2>(tasks);
  tasks_grpc_ = front::MakeTasksGrpc(tasks_.get());
  tasks_beta_ = std::make_unique<front::TasksServiceV2Beta3>(tasks);
  tasks_beta_grpc_ = front::MakeTasksGrpc(tasks_beta_.get());
  locations_ = std::make_unique<front::LocationsService>(tasks, options_.locations);
  locations_grpc_ = front::MakeLocationsGrpc(locations_.get());
  rest_ = std::make_unique<front::RestApi>(worker_.get());
  front::AddTasks(tasks_.get(), rest_.get());
  front::AddTasks(tasks_beta_.get(), rest_.get());
  front::AddLocations(locations_.get(), rest_.get());
  issuer_api_ = std::make_unique<admin::IssuerApi>(issuer_.get(), worker_.get());
  routes_ = std::make_unique<HttpRoutes>(rest_.get(), issuer_api_.get(), api_.get());

  front::net::ServerOptions net;
  net.listen.clear();
  for (const admin::ListenAddress& address : options_.listen) {
    net.listen.push_back(address.ToString());
  }
  if (!options_.tls_cert.empty()) {
    net.tls = front::net::TlsFiles{options_.tls_cert, options_.tls_key};
  }
  net.is_remote_plaintext_allowed = options_.allow_plaintext_remote;
  net.drain_deadline = options_.shutdown_grace;
  StatusOr<std::unique_ptr<front::net::Server>> started = front::net::Server::Start(
      net, {tasks_grpc_.get(), tasks_beta_grpc_.get(), locations_grpc_.get()}, routes_.get());
  if (!started.ok()) {
    const bool is_usage =
        absl::IsInvalidArgument(started.status()) || absl::IsFailedPrecondition(started.status());
    return Failure{is_usage ? ExitCode::kUsage : ExitCode::kFailure,
                   std::string(Message(started.status()))};
  }
  net_ = *std::move(started);
  issuer_->SetIssuer(admin::IssuerUrl(options_, net_->port()));
  LetTokensGo();
  net_->SetServing(true);
  api_->SetPhase(admin::HttpApi::Phase::kReady);
  return std::nullopt;
}

admin::MetricsInput Server::Figures() const {
  admin::MetricsInput input;
  input.dispatch = dispatcher_->Metrics();
  input.connections = net_->stats();
  input.rpcs = rpc_metrics_.Read();
  input.rpcs_open = rpc_metrics_.open_count();
  if (faults_ != nullptr) input.fault_calls_held = faults_->held_count();
  input.process = ReadProcessFigures(start_time_);
  input.version = kVersion;
  return input;
}

void Server::Reload(const Settings& settings) {
  for (const std::string& key : Differences(options_, settings.options)) {
    log_.Warn("option_needs_restart", {{"key", key}});
  }
  const admin::ApplyReport report = admin::ApplyQueues(settings.config, *engine_);
  LogApplied(report, log_);
  log_.Info("queues_reloaded", {{"summary", admin::Summary(report)}});
}

void Server::Stop() {
  if (std::exchange(is_stopped_, true)) return;
  if (api_ != nullptr) api_->SetPhase(admin::HttpApi::Phase::kStopping);
  if (net_ != nullptr) net_->SetServing(false);
  // Calls held back by faults would only use up the grace.
  if (faults_ != nullptr) faults_->Stop();
  if (net_ != nullptr) net_->Stop();
  backup_worker_.reset();
  clock_registration_.Reset();
  if (engine_ != nullptr) engine_->Stop(options_.shutdown_grace);
  // Answers of the engine's last commands are rendered before their reader goes.
  worker_.reset();
  // No outcome may arrive at an engine that is gone.
  if (dispatcher_ != nullptr) dispatcher_->Stop(absl::ZeroDuration());
  net_.reset();
  routes_.reset();
  issuer_api_.reset();
  rest_.reset();
  locations_grpc_.reset();
  locations_.reset();
  tasks_beta_grpc_.reset();
  tasks_beta_.reset();
  tasks_grpc_.reset();
  tasks_.reset();
  api_.reset();
  engine_.reset();
  // Attempts that still wait for a token are dropped by the stopped dispatcher.
  if (token_worker_ != nullptr) LetTokensGo();
  token_worker_.reset();
  dispatcher_.reset();
  issuer_.reset();
  attempt_writer_.reset();  // writes the last lines
  attempt_log_.reset();
  log_executor_.reset();
}

}  // namespace sluice::cli
