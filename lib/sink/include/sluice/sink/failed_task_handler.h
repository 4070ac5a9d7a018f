// SPDX-License-Identifier: Apache-2.0
#pragma once

// What becomes of a record that cannot become a task (eager mode only), and the
// dead-letter queue as an interface.
//
// Threading: all calls from the task thread, one writer for each object.
// Failure: an error from any call fails the job.

#include <memory>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "base/status.h"
#include "sluice/sink/failed_task.h"
#include "sluice/sink/metrics.h"

namespace sluice::sink {

struct HandlerContext {
  int subtask_index = 0;
  MetricGroup* metrics = nullptr;  // the very group of the writer; outlives the handler
};

class FailedTaskHandler {
 public:
  virtual ~FailedTaskHandler() = default;
  /// Once, before any client exists.
  [[nodiscard]] virtual Status Open(const HandlerContext& context);
  /// OK drops the record.
  [[nodiscard]] virtual Status Handle(const FailedTask& failed) = 0;
  /// At each barrier, after every create is settled: all taken must be durable on return.
  [[nodiscard]] virtual Status Flush();
  [[nodiscard]] virtual Status Close();
  /// Whether this is the built-in that fails the job, the only one staged mode takes.
  [[nodiscard]] virtual bool fails_job() const { return false; }
};

/// Where records go that failed for good. At least once: a replayed failure is offered again.
class DeadLetterQueue {
 public:
  virtual ~DeadLetterQueue() = default;
  [[nodiscard]] virtual Status Open(const HandlerContext& context);
  /// May buffer.
  [[nodiscard]] virtual Status Offer(const FailedTask& failed) = 0;
  [[nodiscard]] virtual Status Flush() = 0;
  [[nodiscard]] virtual Status Close();
};

/// Receives one line for each dropped record, at the level of a warning.
using WarningLog = absl::AnyInvocable<void(std::string_view)>;

[[nodiscard]] std::unique_ptr<FailedTaskHandler> FailJob();
/// To standard error unless `log` is given.
[[nodiscard]] std::unique_ptr<FailedTaskHandler> LogAndDrop(WarningLog log = nullptr);
[[nodiscard]] std::unique_ptr<FailedTaskHandler> SendToDeadLetterQueue(
    std::unique_ptr<DeadLetterQueue> queue);

}  // namespace sluice::sink
