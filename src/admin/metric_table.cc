// SPDX-License-Identifier: Apache-2.0
#include "admin/metric_table.h"

namespace sluice::admin {

const std::vector<MetricDescription>& MetricTable() {
  using enum MetricDescription::Type;
  static const std::vector<MetricDescription> table = {
      // Calls.
      {"sluice_rpcs_total", kCounter, "calls", "service, method, code",
       "Calls answered, by the code of the answer."},
      {"sluice_rpc_duration_seconds", kHistogram, "seconds", "service, method",
       "From a call's arrival to its answer, durability included."},
      {"sluice_rpcs_open", kGauge, "calls", "", "Calls that are not answered yet."},
      {"sluice_fault_calls_held", kGauge, "calls", "",
       "Calls that fault injection holds back now."},

      // The engine.
      {"sluice_commands_total", kCounter, "commands", "", "Commands taken by the lane."},
      {"sluice_commands_refused_total", kCounter, "commands", "",
       "Commands refused because the inbox was full."},
      {"sluice_commands_cold_total", kCounter, "commands", "",
       "Commands that had to wait for a read from disk."},
      {"sluice_inbox_commands", kGauge, "commands", "", "Commands that wait for the lane."},
      {"sluice_overlay_keys", kGauge, "keys", "",
       "Changed keys that are in the log but not yet in the store."},
      {"sluice_frames_total", kCounter, "frames", "", "Frames written to the log."},
      {"sluice_frame_bytes_total", kCounter, "bytes", "", "Bytes of those frames."},
      {"sluice_log_bytes", kGauge, "bytes", "", "Size of all log segments on disk."},
      {"sluice_log_segments", kGauge, "segments", "", "Log segments on disk."},
      {"sluice_store_memory_bytes", kGauge, "bytes", "", "Memory held by the store."},
      {"sluice_store_disk_bytes", kGauge, "bytes", "", "Size of the store on disk."},
      {"sluice_store_unflushed_bytes", kGauge, "bytes", "",
       "Changes in the store that only the log has on disk."},
      {"sluice_disk_space_low", kGauge, "0 or 1", "",
       "1 while new work is refused because the disk is nearly full."},

      // Tasks and their attempts.
      {"sluice_tasks_created_total", kCounter, "tasks", "", "Tasks created."},
      {"sluice_tasks_ended_total", kCounter, "tasks", "end",
       "Tasks ended: done, deleted, purged, expired, exhausted, queue_deleted."},
      {"sluice_dead_letters_total", kCounter, "tasks", "event",
       "Exhausted tasks kept, and what became of those kept: kept, evicted, expired, redriven, "
       "deleted."},
      {"sluice_attempts_started_total", kCounter, "attempts", "",
       "Attempts started by the engine."},
      {"sluice_attempts_finished_total", kCounter, "attempts", "result",
       "Attempts with an outcome: success or failure."},
      {"sluice_attempts_in_flight", kGauge, "attempts", "", "Attempts under way."},

      // Queues.
      {"sluice_queues", kGauge, "queues", "", "Queues that exist."},
      {"sluice_queues_not_shown", kGauge, "queues", "",
       "Queues beyond the first 1000 in name order, which have no metrics of their own."},
      {"sluice_queue_tasks", kGauge, "tasks", "queue", "Tasks in the queue."},
      {"sluice_queue_dead_letters", kGauge, "tasks", "queue",
       "Exhausted tasks of the queue that are kept."},
      {"sluice_queue_dead_letter_bytes", kGauge, "bytes", "queue", "Bytes of those tasks."},
      {"sluice_queue_attempts_in_flight", kGauge, "attempts", "queue",
       "Attempts of the queue under way."},
      {"sluice_queue_tokens", kGauge, "tokens", "queue",
       "Attempts the queue's rate limit allows at once now."},
      {"sluice_queue_effective_rate", kGauge, "attempts a second", "queue",
       "Pace of the queue now: the configured one, or less while its target is overloaded."},
      {"sluice_queue_executed_last_minute", kGauge, "attempts", "queue",
       "Attempts of the queue with an outcome during the last minute."},
      {"sluice_queue_running", kGauge, "0 or 1", "queue",
       "1 while the queue is neither paused nor disabled."},
      {"sluice_queue_next_schedule_timestamp_seconds", kGauge, "seconds since 1970", "queue",
       "Schedule time of the queue's next task; absent when it has none in memory."},

      // What leaves the process.
      {"sluice_dispatch_duration_seconds", kHistogram, "seconds", "outcome",
       "Time of an HTTP attempt: response, timed_out, connection_failed."},
      {"sluice_dispatch_responses_total", kCounter, "responses", "class",
       "Responses by class of their status: 1xx to 5xx, other."},
      {"sluice_dispatch_open", kGauge, "attempts", "", "HTTP attempts open now."},
      {"sluice_dispatch_refused_total", kCounter, "attempts", "",
       "Attempts failed at once because too many were open."},
      {"sluice_dispatch_abandoned_total", kCounter, "attempts", "",
       "Attempts cut off by a stop, without an outcome."},
      {"sluice_dispatch_connections_opened_total", kCounter, "connections", "",
       "Connections opened to targets."},

      // Connections of clients.
      {"sluice_connections_accepted_total", kCounter, "connections", "", "Connections accepted."},
      {"sluice_connections_served_total", kCounter, "connections", "protocol",
       "Connections handed to grpc or http1."},
      {"sluice_connections_closed_early_total", kCounter, "connections", "reason",
       "Connections closed before their protocol was served: refused, expired, evicted, hung_up, "
       "out_of_descriptors."},
      {"sluice_connections_open", kGauge, "connections", "", "Connections open now."},
      {"sluice_connections_pending", kGauge, "connections", "",
       "Open connections that have not shown their protocol yet."},

      // The process.
      {"process_resident_memory_bytes", kGauge, "bytes", "", "Resident memory of the process."},
      {"process_cpu_seconds_total", kCounter, "seconds", "", "User and system CPU time."},
      {"process_open_fds", kGauge, "descriptors", "", "Open file descriptors."},
      {"process_start_time_seconds", kGauge, "seconds since 1970", "", "When the process started."},
      {"sluice_build_info", kGauge, "always 1", "version", "The version that runs."},
  };
  return table;
}

}  // namespace sluice::admin
