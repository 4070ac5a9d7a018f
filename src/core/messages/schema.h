// SPDX-License-Identifier: Apache-2.0
#pragma once

// A schema and its revisions (spec pubsub 7): what commit, rollback and the deletion of a
// revision do, and which revisions a topic's messages may follow. It does not read
// definitions: whoever calls has found them valid, and makes random numbers and times.
//
// Threading: plain values; one thread at a time. Failure: a status, and nothing changed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace sluice::core {

inline constexpr std::size_t kSchemaRevisionsMax = 20;

enum class SchemaType : std::uint8_t { kProtocolBuffer = 1, kAvro = 2 };

struct SchemaRevision {
  std::string id;  // eight hexadecimal digits, unique in the schema's life
  std::string definition;
  Time create_time;
  friend bool operator==(const SchemaRevision&, const SchemaRevision&) = default;
};

struct Schema {
  std::string name;  // projects/P/schemas/S
  SchemaType type = SchemaType::kAvro;
  std::vector<SchemaRevision> revisions;  // by age, the latest last; never empty
  /// The number of the next revision's id. It never comes back to one that was given,
  /// also not after deletions.
  std::uint32_t next_id = 0;
  friend bool operator==(const Schema&, const Schema&) = default;

  [[nodiscard]] const SchemaRevision& latest() const { return revisions.back(); }
};

/// What a new revision is made of.
struct SchemaDraft {
  SchemaType type = SchemaType::kAvro;
  std::string definition;
};

/// A schema with one revision. `random` is where its revision ids begin.
Schema MakeSchema(std::string name, SchemaDraft draft, std::uint32_t random, Time now);

/// The revision `id`, or the latest when it is empty. Errors: NOT_FOUND.
StatusOr<const SchemaRevision*> FindRevision(const Schema& schema, std::string_view id);

/// A new latest revision, also when the definition is that of the last one.
/// Errors: INVALID_ARGUMENT for another type; RESOURCE_EXHAUSTED when there are
/// kSchemaRevisionsMax.
Status CommitRevision(SchemaDraft draft, Time now, Schema* schema);

/// A new latest revision with the definition of `id`.
/// Errors: NOT_FOUND; RESOURCE_EXHAUSTED as above.
Status RollbackTo(std::string_view id, Time now, Schema* schema);

/// Errors: NOT_FOUND; INVALID_ARGUMENT for the only revision.
Status DeleteRevision(std::string_view id, Schema* schema);

/// The revisions from `first` to `last`, both with; an empty id leaves that side open.
/// A message belongs when it is one of any of them, tried from the last to the first.
/// Errors: NOT_FOUND; INVALID_ARGUMENT when `first` is younger than `last`.
StatusOr<std::span<const SchemaRevision>> RevisionRange(const Schema& schema,
                                                        std::string_view first,
                                                        std::string_view last);

}  // namespace sluice::core
