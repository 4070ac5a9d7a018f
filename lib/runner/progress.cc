// SPDX-License-Identifier: Apache-2.0
#include "runner/progress.h"

#include <fmt/format.h>

namespace sluice::runner {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(500);
constexpr auto kPlainInterval = std::chrono::seconds(10);

double Seconds(SteadyTime::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

std::string ProgressText(const ProgressFigures& figures) {
  return fmt::format(
      "{} records, {} tasks created, {:.0f} records/s, {} failed attempts, "
      "checkpoint {:.1f} s old",
      figures.records, figures.tasks, figures.records_per_second, figures.retries,
      figures.checkpoint_age_seconds);
}

void Progress::Show(const HostFigures& figures, SteadyTime now, bool is_last) {
  if (shown_at_ == SteadyTime()) shown_at_ = now;
  const auto interval = is_terminal_ ? SteadyTime::duration(kTerminalInterval) : kPlainInterval;
  if (!is_last && now - shown_at_ < interval) return;
  ProgressFigures shown;
  shown.records = figures.records;
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
  std::fflush(out_);
  shown_at_ = now;
  shown_records_ = shown.records;
}

}  // namespace sluice::runner
