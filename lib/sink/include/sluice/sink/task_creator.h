// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sends CreateTask calls. It neither retries nor classifies: one call, one answer.
//
// Threading: `Create`, `Close` and `Cancel` from the task thread. `done` runs on any
// thread, also inside `Create`, once for each accepted call, and may run after `Close`.

#include <google/cloud/tasks/v2/cloudtasks.pb.h>

#include <functional>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "base/status.h"
#include "env/monotonic_clock.h"
#include "sluice/sink/failure.h"

namespace sluice::sink {

/// A call under way. Destroying it neither cancels nor waits.
class PendingCreate {
 public:
  virtual ~PendingCreate() = default;
  /// Asks the call to end early; `done` still runs, with whatever came first.
  virtual void Cancel() = 0;
};

/// Nothing means the task is stored.
using CreateOutcome = std::optional<Failure>;
using CreateDone = absl::AnyInvocable<void(CreateOutcome)>;

class TaskCreator {
 public:
  virtual ~TaskCreator() = default;

  /// Starts one call. `request` need not outlive this function. Without `deadline`
  /// the client's own limit of 20 s holds. An error means that no call was made and
  /// `done` never runs. The handle may be null when there is nothing to cancel.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<PendingCreate>> Create(
      const google::cloud::tasks::v2::CreateTaskRequest& request,
      std::optional<env::MonotonicTime> deadline, CreateDone done) = 0;

  /// Ends the client; calls under way may still complete. A second call does nothing.
  virtual Status Close() = 0;
};

/// Opens a client.
using TaskCreatorFactory = std::function<StatusOr<std::unique_ptr<TaskCreator>>()>;

}  // namespace sluice::sink
