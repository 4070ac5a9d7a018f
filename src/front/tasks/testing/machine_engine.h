// SPDX-License-Identifier: Apache-2.0
#pragma once

// An engine without log, store and threads: commands go to the core's machine
// over a map at once, on the calling thread. For tests of what stands above the
// engine; also lets a test hold replies back or answer in the engine's place.
//
// Threading: Submit from any thread, one at a time; the rest from the test's.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/tasks/testing/machine_harness.h"
#include "engine/engine.h"

namespace sluice::front::testing {

class MachineEngine final : public engine::Engine {
 public:
  explicit MachineEngine(const core::TaskLimits& limits = {})
      : limits_(limits), harness_(std::make_unique<core::testing::MachineHarness>(limits)) {}

  void Submit(engine::Command command, engine::Done done) override;
  void ClockMoved() override {}
  void Stop(Duration) override {}
  Status Backup(const std::string&) override;
  [[nodiscard]] engine::EngineMetrics Metrics() const override { return {}; }

  /// Time, attempts, the machine itself.
  core::testing::MachineHarness& harness() { return *harness_; }

  /// Forgets everything, as a new data directory would.
  void StartAfresh() { harness_ = std::make_unique<core::testing::MachineHarness>(limits_); }

  /// Commands from now on do not drive dispatch, and the ledger is not checked
  /// after each: for tests with many tasks.
  void StopSettling() { is_settling_ = false; }

  /// Commands from now on are carried out, but answered only by ReleaseReplies.
  void HoldReplies() { is_holding_ = true; }
  void ReleaseReplies();
  /// The next command is not carried out but answered with this.
  void FailNext(Status status) { failure_ = std::move(status); }
  [[nodiscard]] std::size_t command_count() const { return command_count_; }

 private:
  engine::Reply Run(engine::Command& command);

  std::mutex mutex_;
  core::TaskLimits limits_;
  std::unique_ptr<core::testing::MachineHarness> harness_;
  std::atomic<std::size_t> command_count_ = 0;
  std::optional<Status> failure_;
  bool is_settling_ = true;
  bool is_holding_ = false;
  std::deque<std::pair<engine::Done, engine::Reply>> held_;
};

}  // namespace sluice::front::testing
