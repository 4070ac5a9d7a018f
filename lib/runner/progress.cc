// SPDX-License-Identifier: Apache-2.0
#include "runner/progress.h"

#include <fmt/format.h>

#include <map>

namespace sluice::runner {
namespace {

constexpr std::string_view kDestination = ".destination.";
constexpr auto kTerminalInterval = std::chrono::milliseconds(500);
constexpr auto kPlainInterval = std::chrono::seconds(10);

double Seconds(SteadyTime::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

std::string ProgressText(const ProgressFigures& figures) {
  const std::string blank =
      figures.blank_lines == 0 ? "" : fmt::format("{} blank lines, ", figures.blank_lines);
  return fmt::format(
      "{} records, {}{} tasks created, {:.0f} records/s, {} failed attempts, "
      "checkpoint {:.1f} s old",
      figures.records, blank, figures.tasks, figures.records_per_second, figures.retries,
      figures.checkpoint_age_seconds);
}

std::string QueuesText(sink::MetricRegistry& metrics) {
  struct Counts {
    std::int64_t sends = 0;
    std::int64_t errors = 0;
  };
  std::map<std::string, Counts> queues;  // of the writer or the committer, whichever sends
  for (const auto& [name, value] : metrics.SampleAll()) {
    const std::size_t begin = name.find(kDestination);
    const std::size_t end = name.rfind('.');
    if (begin == std::string::npos) continue;
    const std::size_t path = begin + kDestination.size();
    Counts& counts = queues[name.substr(path, end - path)];
    (name.ends_with(".sendErrors") ? counts.errors : counts.sends) += value;
  }
  std::string text;
  for (const auto& [queue, counts] : queues) {
    text +=
        fmt::format("{}: {} tasks sent, {} failed for good\n", queue, counts.sends, counts.errors);
  }
  return text;
}

void Progress::Show(const HostFigures& figures, SteadyTime now, bool is_last) {
  if (shown_at_ == SteadyTime()) shown_at_ = now;
  const auto interval = is_terminal_ ? SteadyTime::duration(kTerminalInterval) : kPlainInterval;
  if (!is_last && now - shown_at_ < interval) return;
  ProgressFigures shown;
  shown.records = figures.records;
  shown.blank_lines = figures.blank_lines;
  shown.checkpoint_age_seconds = Seconds(now - figures.last_checkpoint.load());
  const double seconds = Seconds(now - shown_at_);
  if (seconds > 0) {
    shown.records_per_second = static_cast<double>(shown.records - shown_records_) / seconds;
  }
  shown.tasks = static_cast<std::int64_t>(figures.committed_tasks) +
                metrics_->Sample("writer.numRecordsSend").value_or(0);
  for (const auto& [name, value] : metrics_->SampleAll()) {
    if (name.find("errorClass.") != std::string::npos) shown.retries += value;
  }
  fmt::print(out_, "{}{}{}", is_terminal_ ? "\r\x1b[K" : "", ProgressText(shown),
             is_terminal_ && !is_last ? "" : "\n");
  if (is_last) fmt::print(out_, "{}", QueuesText(*metrics_));
  std::fflush(out_);
  shown_at_ = now;
  shown_records_ = shown.records;
}

}  // namespace sluice::runner
