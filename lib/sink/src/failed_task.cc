// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/failed_task.h"

namespace sluice::sink {

std::optional<std::string> FailedTask::Payload() const {
  if (task_ == nullptr) return std::nullopt;
  return task_->SerializeAsString();
}

std::string FailedTask::ToString() const {
  const std::string task =
      task_ == nullptr ? "task=null" : fmt::format("task={} bytes", task_->ByteSizeLong());
  return fmt::format("{} {}: {} ({}{}{})", kConnector, destination_text(), message_, task,
                     cause_ ? ", cause: " : "", cause_ ? cause_->ToString() : "");
}

}  // namespace sluice::sink
