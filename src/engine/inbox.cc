// SPDX-License-Identifier: Apache-2.0
#include "engine/inbox.h"

#include <chrono>

namespace sluice::engine {
namespace {

std::size_t BytesOf(const Command& command) {
  const auto* create = std::get_if<CreateTask>(&command);
  if (create == nullptr) return 256;
  return 256 + create->task.request.body.size() + create->task.request.url.size();
}

}  // namespace

Inbox::Refusal Inbox::PutCommand(Command& command, Done& done) {
  const std::size_t bytes = BytesOf(command);
  const std::lock_guard lock(mutex_);
  if (is_closed_) return Refusal::kClosed;
  if (commands_.size() >= commands_max_ || command_bytes_ + bytes > bytes_max_) {
    // A lane that waits for more commands than fit would wait in vain.
    if (commands_min_ != kNoCommands) {
      is_woken_ = true;
      WakeLocked();
    }
    return Refusal::kFull;
  }
  command_bytes_ += bytes;
  commands_.push_back({std::move(command), std::move(done)});
  if (AreEnoughGathered()) WakeLocked();
  return Refusal::kNone;
}

void Inbox::PutAnswer(Answer answer) {
  const bool can_wait = std::holds_alternative<Applied>(answer);
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  if (!can_wait || is_closed_) WakeLocked();
}

void Inbox::Wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  WakeLocked();
}

void Inbox::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

void Inbox::WakeLocked() {
  if (!is_waiting_) return;
  is_waiting_ = false;
  changed_.notify_one();
}

bool Inbox::AreEnoughGathered() const {
  if (commands_min_ == kNoCommands || commands_.empty()) return false;
  return commands_.size() >= commands_min_ || command_bytes_ >= bytes_min_;
}

Inbox::Taken Inbox::Take(std::size_t commands_min, Duration timeout, std::size_t bytes_min) {
  std::unique_lock lock(mutex_);
  commands_min_ = commands_min;
  bytes_min_ = bytes_min;
  const bool wants_commands = commands_min != kNoCommands;
  // Any answer counts here: a lane that is awake anyway takes what is there.
  const auto is_ready = [&] { return is_woken_ || !answers_.empty() || AreEnoughGathered(); };
  if (!is_ready() && timeout > absl::ZeroDuration()) {
    is_waiting_ = true;
    changed_.wait_for(lock, absl::ToChronoMicroseconds(timeout), is_ready);
    is_waiting_ = false;
  }
  is_woken_ = false;
  Taken taken;
  taken.answers.swap(answers_);
  if (wants_commands) {
    taken.commands.swap(commands_);
    command_bytes_ = 0;
  }
  return taken;
}

std::size_t Inbox::command_count() const {
  const std::lock_guard lock(mutex_);
  return commands_.size();
}

}  // namespace sluice::engine
