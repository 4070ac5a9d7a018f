// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/failed_task_handler.h"

#include <cstdio>
#include <utility>

namespace sluice::sink {
namespace {

std::string Describe(const FailedTask& failed) {
  return fmt::format("{} {}: {}{}{}", failed.connector(), failed.destination_text(),
                     failed.message(), failed.cause() ? ": " : "",
                     failed.cause() ? failed.cause()->ToString() : "");
}

class FailJobHandler : public FailedTaskHandler {
 public:
  [[nodiscard]] Status Handle(const FailedTask& failed) override {
    const auto code = failed.cause() ? failed.cause()->code() : std::nullopt;
    return Status(code.value_or(absl::StatusCode::kInvalidArgument), Describe(failed));
  }
  [[nodiscard]] bool fails_job() const override { return true; }
};

class LogAndDropHandler : public FailedTaskHandler {
 public:
  explicit LogAndDropHandler(WarningLog log) : log_(std::move(log)) {}
  [[nodiscard]] Status Handle(const FailedTask& failed) override {
    const std::string line = "a record was dropped: " + Describe(failed);
    if (log_) {
      log_(line);
    } else {
      fmt::print(stderr, "warning: {}\n", line);
    }
    return {};
  }

 private:
  WarningLog log_;
};

class DeadLetterHandler : public FailedTaskHandler {
 public:
  explicit DeadLetterHandler(std::unique_ptr<DeadLetterQueue> queue) : queue_(std::move(queue)) {}
  [[nodiscard]] Status Open(const HandlerContext& context) override {
    return queue_->Open(context);
  }
  [[nodiscard]] Status Handle(const FailedTask& failed) override { return queue_->Offer(failed); }
  [[nodiscard]] Status Flush() override { return queue_->Flush(); }
  [[nodiscard]] Status Close() override { return queue_->Close(); }

 private:
  std::unique_ptr<DeadLetterQueue> queue_;
};

}  // namespace

Status FailedTaskHandler::Open(const HandlerContext& context) {
  static_cast<void>(context);
  return {};
}
Status FailedTaskHandler::Flush() { return {}; }
Status FailedTaskHandler::Close() { return {}; }

Status DeadLetterQueue::Open(const HandlerContext& context) {
  static_cast<void>(context);
  return {};
}
Status DeadLetterQueue::Close() { return {}; }

std::unique_ptr<FailedTaskHandler> FailJob() { return std::make_unique<FailJobHandler>(); }

std::unique_ptr<FailedTaskHandler> LogAndDrop(WarningLog log) {
  return std::make_unique<LogAndDropHandler>(std::move(log));
}

std::unique_ptr<FailedTaskHandler> SendToDeadLetterQueue(std::unique_ptr<DeadLetterQueue> queue) {
  SLUICE_CHECK(queue != nullptr, "a dead-letter handler needs a queue");
  return std::make_unique<DeadLetterHandler>(std::move(queue));
}

}  // namespace sluice::sink
