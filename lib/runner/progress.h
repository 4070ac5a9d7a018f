// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a run tells where it is: one line that rewrites itself on a terminal, plain
// lines now and then elsewhere.
//
// Threading: the host's thread. Ownership: figures and metrics outlive it.

#include <chrono>
#include <cstdio>
#include <string>

#include "runner/host.h"
#include "sluice/sink/metrics.h"

namespace sluice::runner {

/// What one line says.
struct ProgressFigures {
  std::uint64_t records = 0;
  std::uint64_t blank_lines = 0;  // shown when there are any
  std::int64_t tasks = 0;
  std::int64_t retries = 0;
  double records_per_second = 0;
  double checkpoint_age_seconds = 0;
};
[[nodiscard]] std::string ProgressText(const ProgressFigures& figures);

/// What `sink.metrics.per-destination` counted, one line a queue; empty without it.
[[nodiscard]] std::string QueuesText(sink::MetricRegistry& metrics);

class Progress {
 public:
  Progress(std::FILE* out, bool is_terminal, sink::MetricRegistry* metrics)
      : out_(out), is_terminal_(is_terminal), metrics_(metrics) {}

  /// Prints when the time has come; `is_last` always, ends the line, and adds the queues.
  void Show(const HostFigures& figures, SteadyTime now, bool is_last = false);

 private:
  std::FILE* out_;
  bool is_terminal_;
  sink::MetricRegistry* metrics_;
  SteadyTime shown_at_{};
  std::uint64_t shown_records_ = 0;
};

}  // namespace sluice::runner
