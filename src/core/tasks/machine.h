// SPDX-License-Identifier: Apache-2.0
#pragma once

// The task service's state machine: queues and their tasks, what may be sent
// when, what an outcome means. Command and time in, changes (to the ledger)
// and effects out; no clock, thread, file, socket or random source inside.
// The server, the simulator and the tests run this same code.
//
// Threading: one thread. Ownership: ledger and effects outlive the machine.
// Failure: client errors are statuses; broken invariants end the process.
//
// In memory are all queues, and of the tasks only what is hot: for each queue
// a window of the next entries of its schedule, and the attempts in flight.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/tasks/effects.h"
#include "core/tasks/ledger.h"
#include "core/tasks/model.h"

namespace sluice::core {

/// A schedule time may pass its limit by this much: client clocks differ.
inline constexpr Duration kScheduleAheadSlack = absl::Seconds(10);

/// Server-wide settings of the task service.
struct TaskLimits {
  double dispatches_per_second_max = 500;          // highest rate a queue may ask for
  std::int32_t concurrent_dispatches_max = 5000;   // highest concurrency a queue may ask for
  Duration schedule_ahead_max = absl::Hours(720);  // with kScheduleAheadSlack on top
  Duration queue_name_reservation = absl::ZeroDuration();  // after DeleteQueue (spec 2.6)
  Duration tombstone_ttl_default = kTombstoneTtlDefault;   // of a queue that sets none (spec 2.7)
  /// A derived burst is what the rate gives in this time, at least 10 (spec 2.2).
  Duration derived_burst_span = absl::Milliseconds(200);
  std::size_t queues_max = 10'000;
  std::size_t window_rows_max = 1024;  // schedule entries in memory, each queue
  std::size_t window_rows_low = 256;   // below this the next part is loaded
  std::size_t prefetch_rows_max = 32;  // bodies loaded ahead, each queue
  std::int32_t in_flight_max = 5000;   // attempts of all queues together
  std::size_t in_flight_bytes_max = 256u
                                    << 20;  // bodies of those attempts; none starts from here on
  std::size_t purge_rows_max = 256;         // tasks cleaned away in one step
  // Tasks that used up their attempts, kept in each queue; the oldest go first.
  std::size_t dead_letters_max = 10'000;  // zero: none is kept
  std::size_t dead_letter_bytes_max = 256u << 20;
  Duration dead_letter_ttl = absl::Hours(24 * 14);
  bool throttles = true;  // overloaded targets slow their queue down (spec 4.7)
};

/// Changes to a queue's settings. Unset members stay as they are; the front has
/// put the service default where a client cleared a field. A zero rate,
/// concurrency, number of attempts or tombstone_ttl means the default (spec 2.1).
struct QueuePatch {
  std::optional<double> max_dispatches_per_second;
  /// Unset: derived from the rate when the queue is new or the patch sets the
  /// rate, else kept (spec 1.8). Zero: derived, whatever the patch sets.
  std::optional<std::int32_t> max_burst_size;
  std::optional<std::int32_t> max_concurrent_dispatches;
  std::optional<std::int32_t> max_attempts;
  std::optional<Duration> max_retry_duration;
  std::optional<Duration> min_backoff;
  std::optional<Duration> max_backoff;
  std::optional<std::int32_t> max_doublings;
  std::optional<double> log_sampling_ratio;
  std::optional<Duration> task_ttl;
  std::optional<Duration> tombstone_ttl;
  std::shared_ptr<const TargetPatch> targets;  // null: as they are
};

/// A task to be created; the front has validated and completed the request.
struct NewTask {
  std::string task_id;                             // empty: generate one
  std::optional<Time> schedule_time;               // unset or past: now
  Duration dispatch_deadline = absl::Minutes(10);  // zero: as in TaskBody
  HttpRequest request;
  std::optional<RetryConfig> retry;
};

/// How an attempt ended.
struct AttemptOutcome {
  enum class Kind : std::uint8_t {
    kResponse,          // an HTTP status arrived
    kTimedOut,          // nothing by the deadline
    kConnectionFailed,  // refused, reset, DNS, TLS, a URL that cannot be called
  };
  Kind kind = Kind::kResponse;
  std::int32_t http_status = 0;  // for kResponse
  std::string message;           // for people; bounded by the caller
  /// What the response asked for with Retry-After; zero: nothing.
  Duration retry_after = absl::ZeroDuration();
};

/// What a task is waiting for; several at once are possible.
struct Wait {
  enum class Reason : std::uint8_t {
    kScheduled,  // its time has not come; `until`
    kBackoff,    // as above, after a failed attempt; `until`
    kQueuePaused,
    kQueueDisabled,
    kRate,            // no token; `until` is when the next one is due
    kThrottled,       // the target asked for less (throttle.h); `until`
    kConcurrency,     // the queue has as many attempts in flight as it may
    kServerCapacity,  // in_flight_max or in_flight_bytes_max
    kInFlight,        // an attempt is being made
    kBehind,          // earlier tasks of the queue go first
    kLoading,         // being read from disk
  };
  Reason reason;
  std::optional<Time> until;
};

struct Explanation {
  Task task;
  std::vector<Wait> waits;
};

struct QueueStats {
  std::uint64_t task_count = 0;
  std::int32_t in_flight = 0;
  double tokens = 0;
  std::optional<Time> next_schedule_time;  // of what is in memory
  std::uint64_t executed_last_minute = 0;  // responses, good or bad
  double effective_rate = 0;               // dispatches a second, at most the configured
  std::uint64_t dead_letter_count = 0;
  std::uint64_t dead_letter_bytes = 0;
};

/// In the order of their end; a page goes on after the last one's.
struct DeadLetterCursor {
  Time end_time;
  Sequence sequence = 0;
  friend bool operator==(const DeadLetterCursor&, const DeadLetterCursor&) = default;
};

/// Which dead letters of a queue are meant. All of what is set must hold.
struct DeadLetterSelection {
  std::vector<Sequence> sequences;  // not empty: these, in this order; the rest is not looked at
  std::optional<Time> ended_from;
  std::optional<Time> ended_before;
  std::optional<std::int32_t> last_status;
  std::optional<DeadLetterCursor> after;  // exclusive
  Sequence sequence_before = 0;           // zero: no bound
  std::size_t count_max = 1;              // a step takes no more, and no more than 4 MiB
};

/// One step through a selection.
struct DeadLetterStep {
  struct Sent {
    Sequence sequence = 0;  // of the letter
    std::string old_id;
    std::string new_id;  // another where the service had made the old one
  };
  std::vector<DeadLetter> letters;  // listed
  std::vector<Sent> sent;           // sent again
  std::vector<Sequence> deleted;
  std::vector<Sequence> not_found;       // asked for by sequence and not there
  std::vector<Sequence> taken;           // not sent again: a live task has the name
  std::optional<DeadLetterCursor> next;  // unset: nothing of the selection is left
  Sequence sequence_end = 0;             // tasks created from now on have this or a higher one
};

/// Since the start of the process.
struct DeadLetterTotals {
  std::uint64_t kept = 0;
  std::uint64_t evicted = 0;  // by a bound, the oldest first
  std::uint64_t expired = 0;
  std::uint64_t redriven = 0;
  std::uint64_t deleted = 0;
};

class TaskMachine {
 public:
  TaskMachine(const TaskLimits& limits, Ledger& ledger, Effects& effects);
  ~TaskMachine();
  TaskMachine(const TaskMachine&) = delete;
  TaskMachine& operator=(const TaskMachine&) = delete;

  // --- Recovery: before any command, in any order. Buckets start empty. ---
  void RestoreCounters(Incarnation next_incarnation, Sequence next_sequence);
  void RestoreGeneratedIdKey(std::uint64_t key);
  void RestoreQueue(const Queue& queue, const QueueCounters& counters, Time now);
  void RestoreQueueReservation(const QueueName& name, Time until);
  /// After its queue.
  void RestoreDeadLetter(Incarnation queue, Sequence sequence, const DeadLetterHead& head);
  /// No tombstone expires before this.
  void RestoreTombstoneFloor(Time floor);
  /// Asks for the first loads. After the last Restore call.
  void Start(Time now);

  /// Persisted by the engine in every frame; never decrease.
  [[nodiscard]] Incarnation next_incarnation() const;
  [[nodiscard]] Sequence next_sequence() const;
  [[nodiscard]] Time tombstone_floor() const;

  // --- Queues. Errors beside those named: none. ---
  /// Errors: ALREADY_EXISTS; FAILED_PRECONDITION while the name is reserved;
  /// INVALID_ARGUMENT for a setting out of bounds; RESOURCE_EXHAUSTED at queues_max.
  StatusOr<Queue> CreateQueue(const QueueName& name, const QueuePatch& settings, Time now);
  /// Creates the queue when it does not exist. Errors: as CreateQueue.
  StatusOr<Queue> UpdateQueue(const QueueName& name, const QueuePatch& patch, Time now);
  /// Errors: NOT_FOUND.
  StatusOr<Queue> GetQueue(const QueueName& name) const;
  /// Queues of a location in name order, after `after_id` (exclusive; empty: from the start).
  [[nodiscard]] std::vector<Queue> ListQueues(const LocationName& parent, std::string_view after_id,
                                              std::size_t count_max) const;
  Status DeleteQueue(const QueueName& name, Time now);
  StatusOr<Queue> PauseQueue(const QueueName& name, Time now);
  StatusOr<Queue> ResumeQueue(const QueueName& name, Time now);
  StatusOr<Queue> PurgeQueue(const QueueName& name, Time now);
  /// Replaces the policy whose PolicyEtag is `etag`. Errors: NOT_FOUND; ABORTED when
  /// the policy has another one.
  StatusOr<Queue> SetAccessPolicy(const QueueName& name, std::string_view policy,
                                  std::string_view etag);

  // --- Tasks. Any of them may return ColdRead(). ---
  /// Errors: NOT_FOUND for the queue; ALREADY_EXISTS for a live or reserved
  /// name; INVALID_ARGUMENT for a schedule time too far ahead.
  StatusOr<Task> CreateTask(const QueueName& queue, const NewTask& task, Time now);
  /// The same; `task` is moved from on success and left as it was otherwise.
  StatusOr<Task> CreateTask(const QueueName& queue, NewTask&& task, Time now);
  /// Errors: NOT_FOUND, saying whether the task ended or never was.
  StatusOr<Task> GetTask(const TaskName& name, Time now);
  Status DeleteTask(const TaskName& name, Time now);
  /// Starts an attempt whatever rate, concurrency, schedule and pause say (spec 3.6).
  StatusOr<Task> RunTask(const TaskName& name, Time now);
  StatusOr<Explanation> ExplainTask(const TaskName& name, Time now);

  // --- Dead letters. Errors: NOT_FOUND for the queue. May return ColdRead(). ---
  StatusOr<DeadLetterStep> ListDeadLetters(const QueueName& queue,
                                           const DeadLetterSelection& selection, Time now);
  /// Each becomes a new task of the queue, due now, without attempts, in one step with the end of
  /// its letter. A task named by its creator keeps the name, unless a live task has it now.
  StatusOr<DeadLetterStep> RedriveDeadLetters(const QueueName& queue,
                                              const DeadLetterSelection& selection, Time now);
  StatusOr<DeadLetterStep> DeleteDeadLetters(const QueueName& queue,
                                             const DeadLetterSelection& selection, Time now);
  [[nodiscard]] const DeadLetterTotals& dead_letter_totals() const;

  /// What a listing needs: which records of the incarnation count as live.
  struct Listing {
    Incarnation queue = 0;
    Sequence first = 0;  // no live body lies below
    Sequence purged_through = 0;
    Time created_after;  // tasks created at or before are expired
  };
  /// Errors: NOT_FOUND.
  StatusOr<Listing> BeginListing(const QueueName& queue, Time now) const;

  // --- Answers to effects. Unknown queues and attempts are ignored. ---
  void AttemptFinished(AttemptId id, const AttemptOutcome& outcome, Time now);
  /// `entries` follow `request.after` without a gap; `is_complete`: nothing follows them.
  void WindowLoaded(const LoadWindow& request, std::span<const ScheduleKey> entries,
                    bool is_complete, Time now);
  void TasksLoaded(const LoadTasks& request, Time now);
  struct Oldest {
    Sequence sequence = 0;
    Time create_time;
  };
  void OldestFound(const FindOldest& request, const std::optional<Oldest>& oldest, Time now);
  void PurgedFound(const FindPurged& request, std::span<const Sequence> sequences, bool is_complete,
                   Time now);
  struct Tombstone {
    Incarnation queue = 0;
    std::string task_id;
    Time reserved_until;
  };
  void TombstonesFound(const FindTombstones& request, std::span<const Tombstone> tombstones,
                       bool is_complete, Time now);

  /// Does what is due at `now`: dispatches, expires, asks for loads. Called
  /// after every batch of commands and whenever NextDeadline() has come.
  void Advance(Time now);
  /// When Advance must next be called if nothing else happens.
  [[nodiscard]] Time NextDeadline() const;

  [[nodiscard]] StatusOr<QueueStats> Stats(const QueueName& name, Time now) const;
  [[nodiscard]] std::vector<QueueName> QueueNames() const;
  [[nodiscard]] std::int32_t in_flight() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::core
