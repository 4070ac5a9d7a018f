// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state machine of the eager writer. One bound covers creates in flight and those
// parked until their next attempt; each create has two budgets of attempts that never
// reset. Completions arrive as mails, so nothing here is locked.
//
// Entries are reused: their messages keep the memory they once needed, and a steady
// stream allocates only what the creator does.
//
// Threading: the task thread. Failure: the first job failure stays; Write and Flush
// return it from then on.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "sluice/sink/eager_writer.h"
#include "sluice/sink/task_id.h"

namespace sluice::sink {

class EagerWriter final : public SinkWriter {
 public:
  EagerWriter(std::unique_ptr<RecordMapper> mapper, std::unique_ptr<FailedTaskHandler> handler,
              std::unique_ptr<TaskCreator> creator, const WriterOptions& options,
              const HostServices& host);
  ~EagerWriter() override;

  [[nodiscard]] Status Write(const AnyRecord& record) override;
  [[nodiscard]] Status Flush(bool end_of_input) override;
  [[nodiscard]] StatusOr<std::vector<Envelope>> PrepareCommit() override;
  [[nodiscard]] Status Close() override;

  [[nodiscard]] int in_flight() const { return in_flight_; }
  [[nodiscard]] int parked() const { return static_cast<int>(parked_.size()); }

 private:
  /// One create from its record to its end; goes back to `free_` then.
  struct Entry {
    EagerWriter* writer = nullptr;  // null once the writer is gone
    google::cloud::tasks::v2::CreateTaskRequest request;
    std::optional<QueueDestination> queue;
    int transient_failures = 0;
    int not_found_failures = 0;
    bool sent_before = false;
    // Of the attempt under way: taken by the callback, filled by it.
    std::shared_ptr<Mailbox> mailbox;
    CreateOutcome outcome;
  };
  using EntryRef = std::shared_ptr<Entry>;
  struct Parked {
    env::MonotonicTime due;
    std::uint64_t order;  // equal times leave in the order they came
    EntryRef entry;
    friend bool operator<(const Parked& a, const Parked& b) {  // for a heap: the latest is least
      return a.due != b.due ? a.due > b.due : a.order > b.order;
    }
  };
  struct Gauges {
    std::atomic<std::int64_t> in_flight{0};
    std::atomic<std::int64_t> parked{0};
  };
  struct QueueCounters {
    Counter* records_send;
    Counter* send_errors;
  };

  Status Prepare(const AnyRecord& record, Entry& entry, bool& send);
  Status AwaitCapacity();
  Status DispatchDue();
  Status Dispatch(const EntryRef& entry);
  void RunMailOrWait();
  void OnDone(const EntryRef& entry);
  void OnFailure(const EntryRef& entry, const Failure& failure);
  Status Route(const QueueDestination& queue, const google::cloud::tasks::v2::Task* task,
               std::string message, std::optional<Failure> cause);
  void Park(const EntryRef& entry, std::chrono::milliseconds delay);
  void Fail(Status failure);
  [[nodiscard]] EntryRef TakeEntry();
  void Release(const EntryRef& entry);
  [[nodiscard]] QueueCounters& CountersOf(const QueueDestination& queue);
  void PublishGauges();

  std::unique_ptr<RecordMapper> mapper_;
  std::unique_ptr<FailedTaskHandler> handler_;
  std::unique_ptr<TaskCreator> creator_;
  WriterOptions options_;
  RetrySchedule transient_;
  RetrySchedule not_found_;
  HostServices host_;
  TaskIdHasher hasher_;

  int in_flight_ = 0;
  std::vector<Parked> parked_;  // a heap
  std::uint64_t next_order_ = 0;
  Status async_error_;
  bool closed_ = false;
  std::vector<EntryRef> entries_;  // all there are
  std::vector<EntryRef> free_;

  std::shared_ptr<Gauges> gauges_ = std::make_shared<Gauges>();
  std::shared_ptr<MetricGroup> error_classes_;
  Counter& records_send_;
  Counter& bytes_send_;
  Counter& send_errors_;
  Counter& skipped_;
  Counter& deduplicated_;
  absl::flat_hash_map<std::string, QueueCounters> queue_counters_;
};

}  // namespace sluice::sink
