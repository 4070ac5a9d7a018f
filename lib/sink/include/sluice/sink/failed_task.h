// SPDX-License-Identifier: Apache-2.0
#pragma once

// A record that could not become a task because of what it is, as handlers see it.
//
// Threading: a value, but its references are good only during the handler's call; who
// keeps something copies it.

#include <google/cloud/tasks/v2/task.pb.h>

#include <optional>
#include <string>
#include <string_view>

#include "sluice/sink/failure.h"
#include "sluice/sink/queue_destination.h"

namespace sluice::sink {

class FailedTask {
 public:
  /// `task` is null when serialization itself failed; after a failed id extraction it
  /// is the unnamed task, after a refused create the task as sent.
  FailedTask(const QueueDestination& destination, const google::cloud::tasks::v2::Task* task,
             std::string message, std::optional<Failure> cause)
      : destination_(&destination),
        task_(task),
        message_(std::move(message)),
        cause_(std::move(cause)) {}

  static constexpr std::string_view kConnector = "cloudtasks";
  [[nodiscard]] std::string_view connector() const { return kConnector; }
  [[nodiscard]] const QueueDestination& destination() const { return *destination_; }
  /// The queue path.
  [[nodiscard]] const std::string& destination_text() const { return destination_->path(); }
  [[nodiscard]] const google::cloud::tasks::v2::Task* task() const { return task_; }
  /// The whole serialized task; nothing without one.
  [[nodiscard]] std::optional<std::string> Payload() const;
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::optional<Failure>& cause() const { return cause_; }
  /// Without the payload's content: only its size.
  [[nodiscard]] std::string ToString() const;

 private:
  const QueueDestination* destination_;
  const google::cloud::tasks::v2::Task* task_;
  std::string message_;
  std::optional<Failure> cause_;
};

}  // namespace sluice::sink
