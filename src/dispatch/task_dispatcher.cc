// SPDX-License-Identifier: Apache-2.0
#include "dispatch/task_dispatcher.h"

#include <utility>

#include "dispatch/request_headers.h"
#include "dispatch/url.h"

namespace sluice::dispatch {
namespace {

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
  return outcome;
}

}  // namespace

class TaskDispatcher::Attempt final : public HttpExchange {
 public:
  Attempt(core::StartAttempt start, engine::Dispatcher::Finished finished,
          DispatchCounters* counters)
      : start_(std::move(start)), finished_(std::move(finished)), counters_(counters) {}

  Status Describe(HttpRequestParts* parts) override {
    const core::TaskBody& task = *start_.task.body;
    SLUICE_ASSIGN_OR_RETURN(parts->url, UrlForRequest(task.request.url));
    parts->method = task.request.method;
    parts->body = task.request.body;
    parts->deadline = task.dispatch_deadline;
    return AddAttemptHeaders(start_.queue, start_.task, &parts->headers);
  }

  void Finished(HttpResult result) override {
    const Duration latency = result.latency;
    core::AttemptOutcome outcome = OutcomeOf(std::move(result));
    counters_->Count(outcome, latency);
    finished_(std::move(outcome));
  }

 private:
  core::StartAttempt start_;
  engine::Dispatcher::Finished finished_;
  DispatchCounters* counters_;
};

TaskDispatcher::TaskDispatcher(const HttpClient::Options& options) : client_(options) {}

TaskDispatcher::~TaskDispatcher() = default;

void TaskDispatcher::Start(core::StartAttempt attempt, Finished finished) {
  client_.Submit(std::make_unique<Attempt>(std::move(attempt), std::move(finished), &counters_));
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
