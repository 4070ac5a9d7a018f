// SPDX-License-Identifier: Apache-2.0
#include "core/messages/schema.h"

#include <algorithm>
#include <utility>

namespace sluice::core {
namespace {

// Odd, so that counting through 2^32 of its multiples meets each number once.
constexpr std::uint32_t kIdStep = 0x9E3779B1;

std::string IdOf(std::uint32_t number) { return fmt::format("{:08x}", number); }

std::string_view NameOf(SchemaType type) {
  return type == SchemaType::kAvro ? "AVRO" : "PROTOCOL_BUFFER";
}

// The position of `id`, or the number of revisions.
std::size_t PositionOf(const Schema& schema, std::string_view id) {
  const auto found = std::ranges::find(schema.revisions, id, &SchemaRevision::id);
  return static_cast<std::size_t>(found - schema.revisions.begin());
}

Status NoRevision(const Schema& schema, std::string_view id) {
  return NotFound("schema {} has no revision {}", schema.name, id);
}

Status Append(std::string definition, Time now, Schema* schema) {
  if (schema->revisions.size() >= kSchemaRevisionsMax) {
    return ResourceExhausted("schema {} has {} revisions; the limit is {}", schema->name,
                             schema->revisions.size(), kSchemaRevisionsMax);
  }
  schema->revisions.push_back({IdOf(schema->next_id), std::move(definition), now});
  schema->next_id += kIdStep;
  return {};
}

}  // namespace

Schema MakeSchema(std::string name, SchemaDraft draft, std::uint32_t random, Time now) {
  return {.name = std::move(name),
          .type = draft.type,
          .revisions = {{IdOf(random), std::move(draft.definition), now}},
          .next_id = random + kIdStep};
}

StatusOr<const SchemaRevision*> FindRevision(const Schema& schema, std::string_view id) {
  if (id.empty()) return &schema.latest();
  const std::size_t at = PositionOf(schema, id);
  if (at == schema.revisions.size()) return NoRevision(schema, id);
  return &schema.revisions[at];
}

Status CommitRevision(SchemaDraft draft, Time now, Schema* schema) {
  if (draft.type != schema->type) {
    return InvalidArgument("schema {} is of type {}; a revision cannot be of type {}", schema->name,
                           NameOf(schema->type), NameOf(draft.type));
  }
  return Append(std::move(draft.definition), now, schema);
}

Status RollbackTo(std::string_view id, Time now, Schema* schema) {
  const std::size_t at = PositionOf(*schema, id);
  if (at == schema->revisions.size()) return NoRevision(*schema, id);
  return Append(schema->revisions[at].definition, now, schema);
}

Status DeleteRevision(std::string_view id, Schema* schema) {
  const std::size_t at = PositionOf(*schema, id);
  if (at == schema->revisions.size()) return NoRevision(*schema, id);
  if (schema->revisions.size() == 1) {
    return InvalidArgument("revision {} is the only one of schema {}; delete the schema instead",
                           id, schema->name);
  }
  schema->revisions.erase(schema->revisions.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

StatusOr<std::span<const SchemaRevision>> RevisionRange(const Schema& schema,
                                                        std::string_view first,
                                                        std::string_view last) {
  const std::size_t count = schema.revisions.size();
  const std::size_t from = first.empty() ? 0 : PositionOf(schema, first);
  const std::size_t to = last.empty() ? count - 1 : PositionOf(schema, last);
  if (from == count) return NoRevision(schema, first);
  if (to == count) return NoRevision(schema, last);
  if (from > to) {
    return InvalidArgument("revision {} of schema {} is younger than {}, and cannot be first",
                           first, schema.name, last);
  }
  return std::span(schema.revisions).subspan(from, to - from + 1);
}

}  // namespace sluice::core
