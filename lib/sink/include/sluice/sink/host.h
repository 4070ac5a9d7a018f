// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a stream processor gives the sink, and how it carries a commit. The library has
// no process-wide state: two writers with different hosts do not know each other.
//
// A host keeps this order: barrier (SinkWriter::Flush, PrepareCommit) - the envelopes
// and the source position are durable - `SinkCommitter::Commit` for every batch up to
// that checkpoint, oldest first - only then is the checkpoint forgotten. Batches of a
// restored checkpoint are committed before the first new record.
//
// Threading: a host calls a writer and its committer from the threads it owns, one at a
// time for each object.

#include <memory>
#include <vector>

#include "base/status.h"
#include "env/clock.h"
#include "env/monotonic_clock.h"
#include "env/random.h"
#include "sluice/sink/envelope.h"
#include "sluice/sink/mailbox.h"
#include "sluice/sink/metrics.h"

namespace sluice::sink {

/// All outlive the writers and committers made with them; the mailbox is shared, since
/// calls that complete after a close still post to it.
struct HostServices {
  std::shared_ptr<Mailbox> mailbox;
  MetricGroup* metrics = nullptr;  // of this writer or committer alone
  const env::Clock* wall_clock = nullptr;
  const env::MonotonicClock* monotonic_clock = nullptr;
  env::Random* random = nullptr;
  int subtask_index = 0;
};

/// One envelope on its way through a commit.
class CommitRequest {
 public:
  virtual ~CommitRequest() = default;
  [[nodiscard]] virtual const Envelope& envelope() const = 0;
  /// The task was there already; without this signal a request counts as committed now.
  virtual void SignalAlreadyCommitted() = 0;
};

class SinkCommitter {
 public:
  virtual ~SinkCommitter() = default;
  /// Returning OK promises that every request is settled; any doubt is an error, after
  /// which the host fails the job and commits the same envelopes again.
  [[nodiscard]] virtual Status Commit(const std::vector<CommitRequest*>& requests) = 0;
  [[nodiscard]] virtual Status Close() = 0;
};

}  // namespace sluice::sink
