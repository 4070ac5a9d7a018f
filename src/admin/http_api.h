// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the port answers over HTTP/1.1 beside the services themselves:
//   GET    /healthz                       200 once ready, 503 before and while stopping
//   GET    /metrics                       Prometheus text
//   GET    /admin/v1/explain/{task name}  why a task has not run yet
//   GET    /admin/v1/faults               fault rules with their hits
//   POST   /admin/v1/faults               add a rule
//   DELETE /admin/v1/faults[/{id}]        remove one or all
//   GET    /admin/v1/time                 the server's clock
//   POST   /admin/v1/time:advance         move it (virtual time only)
//   POST   /admin/v1/backup {"dir": ...}  write a copy of the data
// Anything else is a JSON 404. docs/reference/admin-api.md describes the bodies.
//
// A POST must say that it is JSON: a web page can send anything else to a
// loopback port without asking the browser's user, so nothing else is taken.
//
// Threading: Handle on the HTTP thread; it never blocks. Work that may is done on
// threads owned here. Other methods from any thread.
// Ownership: dependencies outlive this; this outlives everything it was handed
// to, the engine's lane included.
// Failure: errors are JSON answers.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "admin/metrics.h"
#include "env/executor.h"
#include "front/net/http.h"

namespace sluice::env {
class Clock;
class VirtualClock;
}  // namespace sluice::env

namespace sluice::admin {

class FaultInjector;
class Logger;

inline constexpr int kAdminRequestsOpenMax = 64;

class HttpApi final : public front::net::HttpHandler {
 public:
  enum class Phase : std::uint8_t { kStarting, kReady, kStopping };

  struct Dependencies {
    engine::Engine* engine = nullptr;
    const env::Clock* clock = nullptr;
    env::VirtualClock* virtual_clock = nullptr;  // null: time is real
    FaultInjector* faults = nullptr;             // null: fault injection is off
    /// Everything but the engine's figures and its queues', which this collects.
    std::function<MetricsInput()> figures;
    env::Executor* worker = nullptr;         // renders answers
    env::Executor* backup_worker = nullptr;  // blocks on disks
    Logger* log = nullptr;
  };

  explicit HttpApi(Dependencies dependencies) : parts_(std::move(dependencies)) {}
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

  void Handle(front::net::HttpRequest request, front::net::HttpResponder responder) override;

  /// What /healthz says. Before it is ready and while it stops, other routes answer 503.
  void SetPhase(Phase phase) { phase_ = phase; }

 private:
  using Request = front::net::HttpRequest;
  using Response = front::net::HttpResponse;

  /// Answers the routes that need no engine; nothing for the others.
  std::optional<Response> AnswerAtOnce(const Request& request);
  Response Faults(const Request& request);
  Response FaultById(const Request& request, std::string_view id);
  Response Health() const;

  /// Refuses or takes a request that is answered later; `Done` must follow.
  bool TakeSlot(front::net::HttpResponder* responder);
  void Done(front::net::HttpResponder* responder, Response response);

  void Metrics(front::net::HttpResponder responder);
  void Explain(std::string_view name, front::net::HttpResponder responder);
  void DeadLetters(const Request& request, front::net::HttpResponder responder);
  void Backup(const Request& request, front::net::HttpResponder responder);

  const Dependencies parts_;
  std::atomic<Phase> phase_ = Phase::kStarting;
  std::atomic<int> open_ = 0;  // requests that are answered later
  std::atomic<bool> is_backup_running_ = false;
};

}  // namespace sluice::admin
