// SPDX-License-Identifier: Apache-2.0
#pragma once

// The envelopes between their barrier and their commit, by checkpoint. A host that has
// no such operator of its own keeps one beside its committer:
//
//   barrier k      Add(k, writer.PrepareCommit()), then Snapshot() into checkpoint k
//   k complete     CommitUpTo(k): also what checkpoints that never completed left
//   end of input   AddEndOfInput(...), snapshot, then CommitUpTo of the id it answers
//   restart        Restore(states of the latest checkpoint), Initialize before records
//
// The state is bytes (docs/format/committer-state.md), so any host can keep it, and whole states
// may move between subtasks (`Redistribute`): an envelope's identity knows no subtask.
//
// Threading: any thread; a commit runs without the lock, so that the next batch can be
// added and snapshot meanwhile. One commit at a time.
// Failure: after a failed commit its batch stays; the host fails the job.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sluice/sink/host.h"

namespace sluice::sink {

/// One batch as bytes, for a host that keeps the order of batches itself.
[[nodiscard]] StatusOr<std::string> EncodeBatch(const std::vector<Envelope>& batch);
/// Commits what `EncodeBatch` made. Errors: DATA_LOSS; of the commit.
Status CommitEncodedBatch(std::string_view bytes, SinkCommitter& committer);

class CommittableCollector {
 public:
  /// `metrics` receives pendingCommittables and its family, and outlives this.
  explicit CommittableCollector(MetricGroup& metrics);
  CommittableCollector(const CommittableCollector&) = delete;
  CommittableCollector& operator=(const CommittableCollector&) = delete;

  /// Takes over the envelopes of `states`. Before anything else. Errors: DATA_LOSS;
  /// nothing of any state is taken then.
  Status Restore(const std::vector<std::string_view>& states);
  /// Commits what was restored, oldest checkpoint first.
  Status Initialize(SinkCommitter& committer);

  void Add(std::int64_t checkpoint_id, std::vector<Envelope> batch);
  /// Under the last known checkpoint id plus one, which is returned.
  std::int64_t AddEndOfInput(std::vector<Envelope> batch);
  /// Everything that is not known to be committed.
  [[nodiscard]] StatusOr<std::string> Snapshot() const;
  /// Commits all batches up to `checkpoint_id`, oldest first; a repeated call does nothing.
  Status CommitUpTo(std::int64_t checkpoint_id, SinkCommitter& committer);

  [[nodiscard]] std::int64_t pending() const;

  /// Deals whole states to `parallelism` subtasks, which each restore their share.
  [[nodiscard]] static std::vector<std::vector<std::string_view>> Redistribute(
      const std::vector<std::string_view>& states, std::size_t parallelism);

 private:
  using Batch = std::shared_ptr<const std::vector<Envelope>>;
  struct Held;

  void AddLocked(std::int64_t checkpoint_id, std::vector<Envelope> batch);
  Status CommitBatch(const Batch& batch, SinkCommitter& committer);

  mutable std::mutex mutex_;
  std::multimap<std::int64_t, Batch> batches_;  // guarded by mutex_
  std::int64_t last_checkpoint_id_ = 0;         // guarded by mutex_
  std::shared_ptr<Held> held_;
  Counter& total_;
  Counter& successful_;
  Counter& already_committed_;
  bool committing_ = false;  // guarded by mutex_
};

}  // namespace sluice::sink
