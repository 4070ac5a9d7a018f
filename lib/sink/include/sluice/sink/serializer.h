// SPDX-License-Identifier: Apache-2.0
#pragma once

// A record as a task, and a record as bytes (the body of the convenience schemas).
//
// Threading: the task thread, one writer for each object.
// Failure: an error of `Serialize` goes to the failed-task handler (eager) or fails the
// job (staged); an error of `Open` fails the writer's creation.

#include <google/cloud/tasks/v2/task.pb.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sluice/sink/failed_task_handler.h"

namespace sluice::sink {

namespace cloudtasks = ::google::cloud::tasks::v2;
using Headers = std::map<std::string, std::string>;

template <typename T>
class TaskSerializer {
 public:
  virtual ~TaskSerializer() = default;
  [[nodiscard]] virtual Status Open(const HandlerContext& context) {
    static_cast<void>(context);
    return {};
  }
  /// Fills `task`, which comes cleared and must stay without a name: the sink composes
  /// names. False skips the record, which is no failure.
  [[nodiscard]] virtual StatusOr<bool> Serialize(const T& record, cloudtasks::Task& task) = 0;
};

template <typename T>
class ByteSerializer {
 public:
  virtual ~ByteSerializer() = default;
  [[nodiscard]] virtual Status Open(const HandlerContext& context) {
    static_cast<void>(context);
    return {};
  }
  /// Nothing is a failure here, not a skip; the message names `name()`.
  [[nodiscard]] virtual StatusOr<std::optional<std::string>> Serialize(const T& record) = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
};

/// The body of a record for a request that has one.
template <typename T>
[[nodiscard]] StatusOr<std::string> BodyOf(ByteSerializer<T>& serializer, const T& record) {
  SLUICE_ASSIGN_OR_RETURN(std::optional<std::string> body, serializer.Serialize(record));
  if (body) return *std::move(body);
  return InvalidArgument("the body serializer {} returned null; it cannot skip a record",
                         serializer.name());
}

}  // namespace sluice::sink
