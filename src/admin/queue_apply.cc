// SPDX-License-Identifier: Apache-2.0
#include "admin/queue_apply.h"

#include <algorithm>
#include <span>
#include <utility>

#include "admin/engine_call.h"
#include "admin/value_text.h"

namespace sluice::admin {
namespace {

/// Queues handled together: one wait each step, far below the engine's inbox.
constexpr std::size_t kQueuesTogether = 1000;
constexpr Duration kReplyWaitMax = absl::Seconds(60);

std::string Show(const Duration& value) { return SpanText(value); }
template <class Number>
std::string Show(const Number& value) {
  return fmt::format("{}", value);
}

std::string_view StateName(core::QueueState state) {
  switch (state) {
    case core::QueueState::kRunning:
      return "RUNNING";
    case core::QueueState::kPaused:
      return "PAUSED";
    case core::QueueState::kDisabled:
      return "DISABLED";
  }
  return "UNKNOWN";
}

/// Calls `visit(name, declared, current)` for each setting of a queue.
template <class Patch, class Visit>
void ForEachSetting(Patch& patch, const core::QueueConfig& current, const Visit& visit) {
  visit("max_dispatches_per_second", patch.max_dispatches_per_second,
        current.rate.max_dispatches_per_second);
  visit("max_burst_size", patch.max_burst_size, current.rate.max_burst_size);
  visit("max_concurrent_dispatches", patch.max_concurrent_dispatches,
        current.rate.max_concurrent_dispatches);
  visit("max_attempts", patch.max_attempts, current.retry.max_attempts);
  visit("max_retry_duration", patch.max_retry_duration, current.retry.max_retry_duration);
  visit("min_backoff", patch.min_backoff, current.retry.min_backoff);
  visit("max_backoff", patch.max_backoff, current.retry.max_backoff);
  visit("max_doublings", patch.max_doublings, current.retry.max_doublings);
  visit("log_sampling_ratio", patch.log_sampling_ratio, current.log_sampling_ratio);
  visit("task_ttl", patch.task_ttl, current.task_ttl);
  visit("tombstone_ttl", patch.tombstone_ttl, current.tombstone_ttl);
}

/// One queue on its way to what is declared.
struct Work {
  const QueueDeclaration* declaration = nullptr;
  QueueChange change;
  bool is_changed = false;
  bool is_failed = false;
};

/// The update that is still needed; `work` learns what it changes.
std::optional<engine::UpdateQueue> Difference(const core::Queue& current, Work* work) {
  const QueueDeclaration& declaration = *work->declaration;
  core::QueuePatch patch = declaration.settings;
  ForEachSetting(patch, current.config,
                 [&](std::string_view name, auto& declared, const auto& value) {
                   if (!declared.has_value()) return;
                   if (*declared == value) {
                     declared.reset();
                     return;
                   }
                   work->change.details.push_back(
                       fmt::format("{} {} -> {}", name, Show(value), Show(*declared)));
                 });
  if (work->change.details.empty()) return std::nullopt;
  // An unset burst would be derived anew from the rate.
  patch.max_burst_size = declaration.settings.max_burst_size;
  return engine::UpdateQueue{declaration.name, std::move(patch)};
}

class Applier {
 public:
  Applier(engine::Engine& engine, ApplyReport* report) : engine_(engine), report_(report) {}

  void Apply(std::span<const QueueDeclaration> declarations) {
    works_.clear();
    std::vector<engine::Command> commands;
    for (const QueueDeclaration& declaration : declarations) {
      works_.push_back({&declaration, {QueueChange::Kind::kUpdated, declaration.name, {}}});
      commands.emplace_back(engine::GetQueue{declaration.name});
    }
    std::vector<engine::Reply> found = CallAll(engine_, std::move(commands), kReplyWaitMax);

    // Creates and updates; a queue's state afterwards decides about pause and resume.
    commands.clear();
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      Work& work = works_[i];
      if (absl::IsNotFound(found[i].status())) {
        work.change.kind = QueueChange::Kind::kCreated;
        commands.emplace_back(
            engine::CreateQueue{work.declaration->name, work.declaration->settings});
        owners.push_back(i);
      } else if (!found[i].ok()) {
        Fail(&work, found[i].status());
      } else if (auto update = Difference(std::get<core::Queue>(*found[i]), &work)) {
        commands.emplace_back(*std::move(update));
        owners.push_back(i);
      }
    }
    std::vector<engine::Reply> stored = CallAll(engine_, std::move(commands), kReplyWaitMax);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      Work& work = works_[owners[i]];
      if (stored[i].ok()) {
        work.is_changed = true;
        found[owners[i]] = std::move(stored[i]);
      } else {
        Fail(&work, stored[i].status());
      }
    }

    ApplyStates(found);
    for (Work& work : works_) Report(&work);
  }

 private:
  void ApplyStates(const std::vector<engine::Reply>& queues) {
    std::vector<engine::Command> commands;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      Work& work = works_[i];
      const std::optional<core::QueueState> declared = work.declaration->state;
      if (work.is_failed || !declared.has_value()) continue;
      const core::QueueState current = std::get<core::Queue>(*queues[i]).state;
      if (current == *declared) continue;
      const bool is_pause = *declared == core::QueueState::kPaused;
      commands.push_back(is_pause ? engine::Command(engine::PauseQueue{work.declaration->name})
                                  : engine::Command(engine::ResumeQueue{work.declaration->name}));
      owners.push_back(i);
      work.change.details.push_back(
          fmt::format("state {} -> {}", StateName(current), StateName(*declared)));
    }
    const std::vector<engine::Reply> replies = CallAll(engine_, std::move(commands), kReplyWaitMax);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      Work& work = works_[owners[i]];
      if (replies[i].ok()) {
        work.is_changed = true;
      } else {
        Fail(&work, replies[i].status());
      }
    }
  }

  void Fail(Work* work, const Status& status) {
    work->is_failed = true;
    report_->failures.push_back(fmt::format("{}: queue {}: {}", work->declaration->place.ToString(),
                                            work->declaration->name.ToString(), Message(status)));
  }

  void Report(Work* work) {
    if (work->is_changed) {
      report_->changes.push_back(std::move(work->change));
    } else if (!work->is_failed) {
      ++report_->unchanged;
    }
  }

  engine::Engine& engine_;
  ApplyReport* report_;
  std::vector<Work> works_;
};

}  // namespace

ApplyReport ApplyQueues(const Config& config, engine::Engine& engine) {
  ApplyReport report;
  Applier applier(engine, &report);
  std::span<const QueueDeclaration> rest = config.queues;
  while (!rest.empty()) {
    const std::size_t count = std::min(rest.size(), kQueuesTogether);
    applier.Apply(rest.first(count));
    rest = rest.subspan(count);
  }
  return report;
}

std::string Summary(const ApplyReport& report) {
  const auto created = std::count_if(
      report.changes.begin(), report.changes.end(),
      [](const QueueChange& change) { return change.kind == QueueChange::Kind::kCreated; });
  std::string text =
      fmt::format("{} created, {} updated, {} unchanged", created,
                  static_cast<std::ptrdiff_t>(report.changes.size()) - created, report.unchanged);
  if (!report.failures.empty()) text += fmt::format(", {} failed", report.failures.size());
  return text;
}

}  // namespace sluice::admin
