// SPDX-License-Identifier: Apache-2.0
#pragma once

// What other threads hand to the lane. Commands are bounded in count and bytes
// and refused when full; answers to the lane's own requests always fit, since
// the lane bounds what it asks for. One lock and at most one wake-up a batch.
//
// Threading: any thread puts, the lane takes.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/tasks/machine.h"
#include "engine/commands.h"
#include "engine/overlay.h"
#include "engine/reads.h"

namespace sluice::engine {

struct Committed {
  FrameNumber frame = 0;
};
struct Applied {
  FrameNumber frame = 0;
};
struct AttemptFinished {
  core::AttemptId id = 0;
  core::AttemptOutcome outcome;
};
struct SpaceChanged {
  bool is_low = false;
};
using Answer = std::variant<Committed, Applied, ReadResult, AttemptFinished, SpaceChanged>;

struct InboundCommand {
  Command command;
  Done done;
};

class Inbox {
 public:
  Inbox(std::size_t commands_max, std::size_t bytes_max)
      : commands_max_(commands_max), bytes_max_(bytes_max) {}

  enum class Refusal : std::uint8_t { kNone, kFull, kClosed };
  /// Takes the command unless it answers otherwise; then `done` is untouched.
  Refusal PutCommand(Command& command, Done& done);
  /// Wakes the lane, except for `Applied`: that only frees memory, which can wait
  /// for the next reason to run, until the inbox is closed.
  void PutAnswer(Answer answer);
  /// Makes the next wait return at once.
  void Wake();
  /// Refuses every later command.
  void Close();

  struct Taken {
    std::vector<Answer> answers;
    std::vector<InboundCommand> commands;
  };
  static constexpr std::size_t kNoCommands = 0;
  static constexpr std::size_t kAnyBytes = SIZE_MAX;
  /// Waits for an answer, for `commands_min` commands or commands of `bytes_min`
  /// bytes, for a command that does not fit, for `Wake`, or until `timeout` passed;
  /// then takes all there is, commands too unless `commands_min` is kNoCommands.
  Taken Take(std::size_t commands_min, Duration timeout, std::size_t bytes_min = kAnyBytes);

  [[nodiscard]] std::size_t command_count() const;

 private:
  void WakeLocked();
  [[nodiscard]] bool AreEnoughGathered() const;

  const std::size_t commands_max_;
  const std::size_t bytes_max_;

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::vector<Answer> answers_;
  std::vector<InboundCommand> commands_;
  std::size_t command_bytes_ = 0;
  bool is_waiting_ = false;
  std::size_t commands_min_ = 1;
  std::size_t bytes_min_ = kAnyBytes;
  bool is_woken_ = false;
  bool is_closed_ = false;
};

}  // namespace sluice::engine
