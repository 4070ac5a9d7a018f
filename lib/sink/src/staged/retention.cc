// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/retention.h"

namespace sluice::sink {

Status VerifyRetention(const QueueDestination& queue, const StagedOptions& options,
                       QueueRetentionReader& reader) {
  const std::variant<std::optional<Duration>, Failure> answer =
      reader.ReadTombstoneTtl(queue, absl::FromChrono(options.request_timeout()));
  if (const Failure* failure = std::get_if<Failure>(&answer)) {
    return Status(failure->code().value_or(absl::StatusCode::kUnknown),
                  fmt::format("reading how long queue {} keeps task names failed with {}; the read "
                              "needs the permission cloudtasks.queues.get",
                              queue.path(), failure->class_name()));
  }
  const Duration kept = std::get<0>(answer).value_or(kTombstoneTtlDefault);
  const Duration needed = absl::FromChrono(options.name_retention());
  if (kept < needed) {
    return FailedPrecondition(
        "queue {}: tombstoneTtl is shorter ({}) than the nameRetention of the sink ({}); a name "
        "could be free again while its task may still be sent",
        queue.path(), absl::FormatDuration(kept), absl::FormatDuration(needed));
  }
  return {};
}

}  // namespace sluice::sink
