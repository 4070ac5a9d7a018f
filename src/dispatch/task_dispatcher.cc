// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task_dispatcher.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "dispatch/request_headers.h"

namespace sluice::dispatch {
namespace {

constexpr std::string_view kAuthorization = "Authorization";

core::AttemptOutcome OutcomeOf(HttpResult result) {
  core::AttemptOutcome outcome;
  switch (result.kind) {
    case HttpResult::Kind::kResponse:
      outcome.kind = core::AttemptOutcome::Kind::kResponse;
      break;
    case HttpResult::Kind::kTimedOut:
      outcome.kind = core::AttemptOutcome::Kind::kTimedOut;
      break;
    case HttpResult::Kind::kConnectionFailed:
      outcome.kind = core::AttemptOutcome::Kind::kConnectionFailed;
      break;
  }
  outcome.http_status = result.http_status;
  outcome.message = std::move(result.message);
  outcome.retry_after = result.retry_after;
  return outcome;
}

}  // namespace

class TaskDispatcher::Attempt final : public HttpExchange {
 public:
  Attempt(core::StartAttempt start, engine::Dispatcher::Finished finished,
          const TargetOptions* targets, DispatchCounters* counters)
      : start_(std::move(start)),
        finished_(std::move(finished)),
        targets_(targets),
        counters_(counters) {}

  [[nodiscard]] bool NeedsToken() const {
    return !std::holds_alternative<std::monostate>(TokenOf(start_));
  }

  void TakeToken(TokenSource& source) {
    const StatusOr<Target> target = TargetOf(start_, *targets_);
    if (!target.ok()) return;  // Describe finds the same
    bearer_ = source.Bearer(TokenOf(start_), target->url);
  }

  Status Describe(HttpRequestParts* parts) override {
    SLUICE_ASSIGN_OR_RETURN(Target target, TargetOf(start_, *targets_));
    parts->url = std::move(target.url);
    parts->method = target.method;
    parts->deadline = target.deadline;
    parts->may_redirect = target.may_redirect;
    parts->body = start_.task.body->request.body;
    SLUICE_RETURN_IF_ERROR(AddAttemptHeaders(start_, &parts->headers));
    return NeedsToken() ? AddToken(&parts->headers) : Status();
  }

  void Finished(HttpResult result) override {
    const Duration latency = result.latency;
    core::AttemptOutcome outcome = OutcomeOf(std::move(result));
    counters_->Count(outcome, latency);
    finished_(std::move(outcome));
  }

 private:
  /// In place of what the caller or the queue may have given (spec 4.3).
  Status AddToken(HeaderLines* headers) {
    SLUICE_RETURN_IF_ERROR(bearer_.status());
    headers->Remove(kAuthorization);
    return headers->Add(kAuthorization, fmt::format("Bearer {}", *bearer_));
  }

  core::StartAttempt start_;
  engine::Dispatcher::Finished finished_;
  const TargetOptions* targets_;
  DispatchCounters* counters_;
  StatusOr<std::string> bearer_ = FailedPrecondition("this server issues no tokens");
};

TaskDispatcher::TaskDispatcher(const HttpClient::Options& options, TargetOptions targets,
                               DispatchTokens tokens)
    : targets_(std::move(targets)), tokens_(tokens), client_(options) {}

TaskDispatcher::~TaskDispatcher() = default;

void TaskDispatcher::Start(core::StartAttempt attempt, Finished finished) {
  auto exchange =
      std::make_unique<Attempt>(std::move(attempt), std::move(finished), &targets_, &counters_);
  if (tokens_.source == nullptr || !exchange->NeedsToken()) {
    return client_.Submit(std::move(exchange));
  }
  // A job must be copyable.
  auto waiting = std::make_shared<std::unique_ptr<Attempt>>(std::move(exchange));
  tokens_.worker->Post([this, waiting] {
    (*waiting)->TakeToken(*tokens_.source);
    client_.Submit(std::move(*waiting));
  });
}

void TaskDispatcher::Stop(Duration grace) { client_.Stop(grace); }

DispatchMetrics TaskDispatcher::Metrics() const {
  DispatchMetrics metrics;
  const HttpClient::Counters client = client_.counters();
  metrics.attempts_started = client.submitted;
  metrics.attempts_open = client.open;
  metrics.attempts_refused = client.refused;
  metrics.attempts_abandoned = client.abandoned;
  metrics.connections_opened = client.connections_opened;
  counters_.Read(&metrics);
  return metrics;
}

}  // namespace sluice::dispatch
