// SPDX-License-Identifier: Apache-2.0
#pragma once

// An engine for tests of admin/: keeps queues in a map and answers at once on
// the calling thread. It has no tasks, no time and no disk.

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace sluice::admin {

class FakeEngine final : public engine::Engine {
 public:
  void Submit(engine::Command command, engine::Done done) override {
    submitted_.push_back(std::visit([](const auto& c) { return NameOf(c); }, command));
    if (is_silent) {
      unanswered_.push_back(std::move(done));
      return;
    }
    done(std::visit([this](const auto& c) { return Handle(c); }, command));
  }
  void ClockMoved() override { ++clock_moves; }
  void Stop(Duration) override { is_stopped = true; }
  Status Backup(const std::string& dir) override {
    backup_dirs.push_back(dir);
    return backup_status;
  }
  [[nodiscard]] engine::EngineMetrics Metrics() const override { return metrics; }

  /// Names of the commands since the last call.
  std::vector<std::string> TakeSubmitted() { return std::exchange(submitted_, {}); }

  std::map<QueueName, core::Queue> queues;
  std::vector<engine::NamedStats> stats;
  std::map<TaskName, core::Explanation> explanations;
  engine::EngineMetrics metrics;
  Status update_status;  // what UpdateQueue answers when it is an error
  Status backup_status;
  std::vector<std::string> backup_dirs;
  int clock_moves = 0;
  bool is_stopped = false;
  bool is_silent = false;  // keeps every `done` until destroyed

 private:
  static std::string NameOf(const engine::GetQueue&) { return "GetQueue"; }
  static std::string NameOf(const engine::CreateQueue&) { return "CreateQueue"; }
  static std::string NameOf(const engine::UpdateQueue&) { return "UpdateQueue"; }
  static std::string NameOf(const engine::PauseQueue&) { return "PauseQueue"; }
  static std::string NameOf(const engine::ResumeQueue&) { return "ResumeQueue"; }
  template <class Other>
  static std::string NameOf(const Other&) {
    return "other";
  }

  engine::Reply Handle(const engine::GetQueue& c) {
    const auto found = queues.find(c.name);
    if (found == queues.end()) return NotFound("queue {}", c.name.ToString());
    return engine::Result(found->second);
  }
  engine::Reply Handle(const engine::CreateQueue& c) {
    queues[c.name].name = c.name;
    Patch(c.settings, &queues[c.name]);
    return Handle(engine::GetQueue{c.name});
  }
  engine::Reply Handle(const engine::UpdateQueue& c) {
    if (!update_status.ok()) return update_status;
    Patch(c.patch, &queues[c.name]);
    return Handle(engine::GetQueue{c.name});
  }
  engine::Reply Handle(const engine::PauseQueue& c) {
    queues[c.name].state = core::QueueState::kPaused;
    return Handle(engine::GetQueue{c.name});
  }
  engine::Reply Handle(const engine::ResumeQueue& c) {
    queues[c.name].state = core::QueueState::kRunning;
    return Handle(engine::GetQueue{c.name});
  }
  engine::Reply Handle(const engine::CollectStats&) { return engine::Result(stats); }
  engine::Reply Handle(const engine::ExplainTask& c) {
    const auto found = explanations.find(c.name);
    if (found == explanations.end()) return NotFound("task {} does not exist", c.name.ToString());
    return engine::Result(found->second);
  }
  template <class Other>
  engine::Reply Handle(const Other&) {
    return Unimplemented("not in the fake");
  }

  static void Patch(const core::QueuePatch& patch, core::Queue* queue) {
    core::QueueConfig& config = queue->config;
    const auto set = [](const auto& from, auto* to) {
      if (from.has_value()) *to = *from;
    };
    set(patch.max_dispatches_per_second, &config.rate.max_dispatches_per_second);
    set(patch.max_burst_size, &config.rate.max_burst_size);
    set(patch.max_concurrent_dispatches, &config.rate.max_concurrent_dispatches);
    set(patch.max_attempts, &config.retry.max_attempts);
    set(patch.max_retry_duration, &config.retry.max_retry_duration);
    set(patch.min_backoff, &config.retry.min_backoff);
    set(patch.max_backoff, &config.retry.max_backoff);
    set(patch.max_doublings, &config.retry.max_doublings);
    set(patch.log_sampling_ratio, &config.log_sampling_ratio);
    set(patch.task_ttl, &config.task_ttl);
    set(patch.tombstone_ttl, &config.tombstone_ttl);
  }

  std::vector<std::string> submitted_;
  std::vector<engine::Done> unanswered_;
};

}  // namespace sluice::admin
