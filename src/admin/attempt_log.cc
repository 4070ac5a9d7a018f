// SPDX-License-Identifier: Apache-2.0
#include "admin/attempt_log.h"

#include <utility>

#include "admin/logging.h"
#include "admin/mixed_random.h"

namespace sluice::admin {

struct AttemptLog::Line {
  std::string queue;
  std::string task_id;
  std::string url;
  std::int32_t attempt = 0;  // of the task, counting from one
  core::AttemptOutcome outcome;
};

namespace {

std::string_view NameOf(core::AttemptOutcome::Kind kind) {
  switch (kind) {
    case core::AttemptOutcome::Kind::kResponse:
      return "response";
    case core::AttemptOutcome::Kind::kTimedOut:
      return "timed_out";
    case core::AttemptOutcome::Kind::kConnectionFailed:
      return "connection_failed";
  }
  return "unknown";
}

}  // namespace

std::string UrlForLog(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t authority = url.find("://");
  if (authority == std::string_view::npos) return std::string(url);
  const std::size_t host = authority + 3;
  const std::size_t path = url.find('/', host);
  // A user and a password may stand before the last @ of the authority.
  const std::size_t at = url.substr(0, path).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)).append(url.substr(at + 1));
}

void AttemptLog::Start(core::StartAttempt attempt, Finished finished) {
  if (attempt.log_sampling_ratio <= 0 || attempt.task.body == nullptr ||
      ToUnit(Mixed(attempt.id)) >= attempt.log_sampling_ratio) {
    inner_.Start(std::move(attempt), std::move(finished));
    return;
  }
  Line line{attempt.queue.ToString(), attempt.task.body->task_id,
            UrlForLog(attempt.task.body->request.url), attempt.task.progress.dispatch_count,
            core::AttemptOutcome{}};
  inner_.Start(std::move(attempt), [this, line = std::move(line), finished = std::move(finished)](
                                       core::AttemptOutcome outcome) mutable {
    line.outcome = outcome;
    finished(std::move(outcome));
    if (waiting_.fetch_add(1) >= kAttemptLinesWaitingMax) {
      waiting_.fetch_sub(1);
      ++dropped_;
      return;
    }
    writer_.Post([this, line = std::move(line)] {
      Write(line);
      waiting_.fetch_sub(1);
    });
  });
}

void AttemptLog::Write(const Line& line) {
  if (const std::uint64_t dropped = dropped_.exchange(0); dropped > 0) {
    log_.Warn("attempt_lines_dropped", {{"count", dropped}});
  }
  log_.Info("attempt", {{"queue", line.queue},
                        {"task", line.task_id},
                        {"attempt", line.attempt},
                        {"url", line.url},
                        {"outcome", NameOf(line.outcome.kind)},
                        {"status", line.outcome.http_status},
                        {"message", line.outcome.message}});
}

}  // namespace sluice::admin
