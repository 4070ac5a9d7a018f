// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a client of the service may rely on, checked from outside: the checker
// sees what clients asked and were told and what reached the target, and keeps
// for each task the reasons it may have ended. It knows nothing of frames.
//
// A command whose answer was lost in a crash may or may not have happened; the
// checker then allows both.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "engine/commands.h"

namespace sluice::sim {

class Checker {
 public:
  /// The first broken promises, in words; empty when all held.
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

  // --- Clients. Each command is told at its issue and, when answered, at its answer. ---
  void QueueSettings(const std::string& queue, const core::QueueConfig& config);
  void CreateAcknowledged(const std::string& queue, const core::Task& task, bool is_named,
                          Time issued, Time now);
  /// A refusal of a named create: the name must have had a holder.
  void CreateRefusedAsDuplicate(const std::string& queue, const std::string& task_id);
  void CreateIssued(const std::string& queue, const std::string& task_id);
  void DeleteIssued(const std::string& queue, const std::string& task_id, Time now);
  /// Answered; `is_done` when the answer was OK.
  void DeleteFinished(const std::string& queue, const std::string& task_id, Time issued,
                      bool is_done, Time now);
  void RunIssued(const std::string& queue, const std::string& task_id);
  /// Purge or DeleteQueue.
  void WipeIssued(const std::string& queue, Time now);
  /// The next queue of this name starts with a full bucket and nothing in flight.
  void QueueDeleted(const std::string& queue);
  void PauseAcknowledged(const std::string& queue);
  void ResumeIssued(const std::string& queue);
  /// GetTask said NOT_FOUND.
  void NotFound(const std::string& queue, const std::string& task_id, Time issued, Time now);
  void Listed(const std::string& queue, const std::set<core::Sequence>& sequences, Time issued,
              Time now);

  // --- The target. ---
  void AttemptLeft(const core::StartAttempt& attempt, Time now);
  /// The outcome reached the server in the life the attempt was made in.
  void OutcomeArrived(const core::StartAttempt& attempt, const core::AttemptOutcome& outcome,
                      bool is_success, Time now);

  // --- The server's own account of ends, and its deaths. ---
  void Ended(const core::TaskEnded& ended);
  void ServerDied();

  /// After the faults stopped and everything drained: each acknowledged task
  /// must have a reason to be gone.
  void Drained(Time now);

  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  static constexpr std::int32_t kNever = 1'000'000;

  struct TaskRecord {
    std::string queue;
    std::string task_id;
    bool is_named = false;
    bool is_acknowledged = false;
    Time created;  // as the server says
    Time acknowledged;
    Time schedule_time;
    std::optional<core::RetryConfig> retry;
    std::int32_t attempts = 0;         // that left; a crash may hide started ones
    std::int32_t deaths = 0;           // of the server since the create
    std::optional<Time> end_earliest;  // first moment at which it may have ended
    std::optional<Time> delete_acknowledged;
    std::optional<Time> failure_arrived;  // in this life
    Duration retry_after;                 // of that failure
  };
  /// It may have happened at any moment between the two.
  struct Delete {
    Time issued;
    Time finished = absl::InfiniteFuture();
  };
  struct QueueRecord {
    double rate_max = 0;
    double burst_max = 0;
    std::int32_t concurrency_max = 0;
    std::int32_t attempts_max = 0;      // -1: some setting had no limit
    std::int32_t give_up_min = kNever;  // attempts after which some setting gives up
    Duration backoff_min = absl::InfiniteDuration();
    Duration task_ttl_min = absl::InfiniteDuration();
    Duration tombstone_min = absl::InfiniteDuration();
    std::int64_t run_credit_rate = 0;  // attempts that need no token
    std::int64_t run_credit_concurrency = 0;
    double tokens = 0;
    Time tokens_at = absl::InfinitePast();
    std::set<core::AttemptId> in_flight;
    bool is_paused = false;  // acknowledged, no resume issued since
    std::vector<Time> wipes;
  };

  void Fail(std::string what);
  void MayHaveEnded(TaskRecord& task, Time when);
  [[nodiscard]] bool MayBeGone(const TaskRecord& task, Time now);
  /// Attempts after which a task with these settings may be given up.
  static std::int32_t GiveUpAfter(const core::RetryConfig& retry);
  QueueRecord& Queue(const std::string& name) { return queues_[name]; }
  TaskRecord* LatestOf(const std::string& queue, const std::string& task_id);

  std::vector<std::string> failures_;
  std::map<std::string, QueueRecord> queues_;
  std::map<core::Sequence, TaskRecord> tasks_;
  std::map<std::pair<std::string, std::string>, std::vector<core::Sequence>> by_name_;
  std::set<std::pair<std::string, std::string>> names_issued_;
  std::map<std::pair<std::string, std::string>, std::int64_t> runs_issued_;
  std::map<std::pair<std::string, std::string>, std::vector<Delete>> deletes_;
  std::set<std::pair<core::Incarnation, core::Sequence>> ended_in_life_;
  std::uint64_t attempts_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace sluice::sim
