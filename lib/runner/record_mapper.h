// SPDX-License-Identifier: Apache-2.0
#pragma once

// A record becomes a task, by the options of the run. Pure: the same record gives
// the same task, which exactly-once with a task id rests on.
//
// Threading: immutable after Make; any thread.
// Failure: INVALID_ARGUMENT that names the field or rule, never the record's content.

#include <google/cloud/tasks/v2/task.pb.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "runner/options.h"
#include "runner/record_source.h"
#include "runner/template_text.h"

namespace sluice::runner {

/// A record with what its text says.
struct ParsedRecord {
  Record record;
  nlohmann::json fields;
};

/// Errors: INVALID_ARGUMENT when the line is not one JSON object, or too long.
StatusOr<ParsedRecord> ParseRecord(Record record);

class RecordMapper {
 public:
  using Task = google::cloud::tasks::v2::Task;

  /// Errors: INVALID_ARGUMENT naming the option whose template or value is wrong.
  static StatusOr<RecordMapper> Make(const MappingOptions& options);

  [[nodiscard]] StatusOr<Task> ToTask(const ParsedRecord& record) const;

  /// The key of the logical task. Only with the option task-id; empty keys are errors.
  [[nodiscard]] StatusOr<std::string> ToKey(const ParsedRecord& record) const;
  [[nodiscard]] bool has_key() const { return task_id_.has_value(); }

 private:
  struct Header {
    std::string name;
    TemplateText value;
  };
  explicit RecordMapper(MappingOptions options) : options_(std::move(options)) {}

  [[nodiscard]] StatusOr<std::string> Body(const ParsedRecord& record) const;
  [[nodiscard]] bool HasBody() const;
  Status FillHttp(const ParsedRecord& record, Task* task) const;
  Status FillAppEngine(const ParsedRecord& record, Task* task) const;
  template <typename Headers>
  Status FillHeaders(const ParsedRecord& record, Headers* out) const;

  MappingOptions options_;
  google::cloud::tasks::v2::HttpMethod method_{};
  TemplateText url_;
  std::vector<Header> headers_;
  std::optional<TemplateText> schedule_time_;
  std::optional<TemplateText> task_id_;
  TemplateText body_;
};

}  // namespace sluice::runner
