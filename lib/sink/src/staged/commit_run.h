// SPDX-License-Identifier: Apache-2.0
#pragma once

// One invocation of the committer: a single-threaded loop over the mailbox and the
// clocks. It holds at most `maxInFlightTasks` envelopes active, those in backoff
// included, and forgets everything when it ends: budgets are per invocation.
//
// An attempt that outlives its RPC deadline is detached: whatever its call answers
// later is ignored, so that a new attempt can never be confused with an old one.
//
// Threading: the committing thread; completions arrive as mails.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sink/staged/staged_committer.h"
#include "staged/replay_gauges.h"

namespace sluice::sink {

/// What survives a run: the counters, registered once.
struct CommitterMetrics {
  CommitterMetrics(MetricGroup& group, const env::Clock& clock);
  [[nodiscard]] Counter& Errors(const Failure& failure);

  MetricGroup& group;
  ReplayGauges gauges;
  Counter& expired_failed;
  Counter& expired_assumed_committed;
  Counter& expired_dropped;
  Counter& expired_creates_authorized;
  Counter& deduplicated;
};

class CommitRun {
 public:
  CommitRun(const StagedCommitterConfig& config, TaskCreator& creator, const HostServices& host,
            CommitterMetrics& metrics, const std::atomic<bool>& closed);
  CommitRun(const CommitRun&) = delete;
  CommitRun& operator=(const CommitRun&) = delete;
  ~CommitRun();

  Status Run(const std::vector<CommitRequest*>& requests);

 private:
  using Id = std::uint64_t;  // position in the order of admission
  using Due = std::pair<env::MonotonicTime, Id>;

  /// One call. Shared with its mail; `run` is cleared when nobody waits for it any more.
  struct Attempt {
    CommitRun* run;
    Id id;
    std::unique_ptr<PendingCreate> call;
    CreateOutcome outcome;
  };
  struct Entry {
    CommitRequest* request = nullptr;
    google::cloud::tasks::v2::CreateTaskRequest create;
    std::shared_ptr<Attempt> attempt;  // while a call is under way
    env::MonotonicTime call_deadline;
    int transient_failures = 0;
    int not_found_failures = 0;
    bool counted_as_sent = false;
  };

  Status CheckHeaders(const std::vector<CommitRequest*>& requests);
  Status Loop();
  /// Mails that have arrived. False when there were none.
  bool RunMails();
  Status Settle(const std::shared_ptr<Attempt>& attempt);
  Status ExpireOneCall(bool& worked);
  Status AdmitOne(bool& worked);
  Status SendOneDue(bool& worked);
  void Wait();

  Status Send(Id id, Entry& entry);
  Status Expired(Id id, Entry& entry, std::int64_t deadline, std::int64_t now, bool& send);
  Status Answered(Id id, Entry& entry, const CreateOutcome& outcome);
  Status Failed(Id id, Entry& entry, const Failure& failure);
  void Finish(Id id) { active_.erase(id); }
  void Detach(Attempt& attempt);
  [[nodiscard]] Counter& Destination(const Entry& entry, std::string_view name);

  const StagedCommitterConfig& config_;
  TaskCreator& creator_;
  const HostServices& host_;
  CommitterMetrics& metrics_;
  const std::atomic<bool>& closed_;

  std::deque<CommitRequest*> pending_;
  std::map<Id, Entry> active_;
  std::set<Due> due_;             // entries that wait to be sent
  std::set<Due> call_deadlines_;  // entries with a call under way
  std::deque<std::shared_ptr<Attempt>> arrived_;
  Id next_id_ = 0;
};

}  // namespace sluice::sink
