// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's writer and committer behind the host loop's port, connected with
// a real client: options become writer options, records become tasks by the
// run's mapping, batches become bytes for the checkpoint and envelopes again.
//
// Threading: as SinkPort. Ownership: keeps everything it makes.
// Failure: errors of records name the record's place and the rule, not its content.

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "runner/options.h"
#include "runner/sink_port.h"
#include "sluice/sink/metrics.h"

namespace sluice::runner {

/// Opens clients and, with exactly-once, reads the queue's retention.
/// `warn` gets one line for what is worth a look but ends nothing; any thread.
/// Errors: INVALID_ARGUMENT for options the library refuses; those of credentials
/// and of the retention check.
StatusOr<std::unique_ptr<SinkPort>> MakeTaskSink(const RunnerOptions& options,
                                                 sink::MetricRegistry* metrics,
                                                 std::function<void(std::string_view)> warn);

}  // namespace sluice::runner
