// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a record becomes a task, without the record's type: the writers work on this,
// and the typed builder (cloud_tasks_sink.h) makes one from a resolver, a serializer
// and an id extractor.
//
// Threading: the task thread.

#include <google/cloud/tasks/v2/task.pb.h>

#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "sluice/sink/queue_destination.h"

namespace sluice::sink {

struct HandlerContext;

/// What a host knows about the record being written.
struct WriteContext {
  std::optional<Time> timestamp;  // event time
  Time watermark = absl::InfinitePast();
};

/// A record by address; the mapper alone knows its type.
struct AnyRecord {
  const void* value = nullptr;
  WriteContext context;
};

class RecordMapper {
 public:
  virtual ~RecordMapper() = default;

  /// Once, before anything else.
  [[nodiscard]] virtual Status Open(const HandlerContext& context) = 0;
  /// The queue, valid until the next call; null when the resolver answered none.
  [[nodiscard]] virtual StatusOr<const QueueDestination*> Resolve(const AnyRecord& record) = 0;
  /// Fills the cleared `task`; false skips the record.
  [[nodiscard]] virtual StatusOr<bool> Serialize(const AnyRecord& record,
                                                 google::cloud::tasks::v2::Task& task) = 0;
  [[nodiscard]] virtual bool has_task_ids() const = 0;
  /// The deduplication key; nothing when the extractor returned none.
  [[nodiscard]] virtual StatusOr<std::optional<std::string>> TaskKey(const AnyRecord& record) = 0;
  /// The one queue of all records, when it is fixed; asking calls no user code.
  [[nodiscard]] virtual const QueueDestination* fixed_queue() const = 0;
};

}  // namespace sluice::sink
