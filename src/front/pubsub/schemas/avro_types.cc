// SPDX-License-Identifier: Apache-2.0
#include "front/pubsub/schemas/avro_types.h"

#include <avro.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "front/pubsub/schemas/avro_memory.h"
#include "front/pubsub/schemas/message_schema.h"

namespace sluice::front {
namespace {

struct Release {
  void operator()(avro_obj_t* schema) const { avro_schema_decref(schema); }
};
using Handle = std::unique_ptr<avro_obj_t, Release>;

// The library reads as deep as its text goes, so the depth is looked at before: brackets
// outside strings, which is all that nests in JSON.
Status CheckDepth(std::string_view definition) {
  // A record takes three brackets a level: its own, its fields', the field's.
  constexpr int kBracketsMax = 3 * kSchemaDepthMax;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < definition.size(); ++i) {
    const char byte = definition[i];
    if (in_string && byte == '\\') ++i;
    if (byte == '"') in_string = !in_string;
    if (in_string) continue;
    if (byte == '{' || byte == '[') ++depth;
    if (byte == '}' || byte == ']') --depth;
    if (depth > kBracketsMax) {
      return InvalidArgument("the schema nests {} brackets at byte {}; the limit is {}", depth, i,
                             kBracketsMax);
    }
  }
  return {};
}

Status Invalid(std::string_view where, std::string_view what) {
  return InvalidArgument("the schema is not valid at {}: {}", where, what);
}

std::string FullName(avro_schema_t schema) {
  const bool named = is_avro_record(schema) || is_avro_enum(schema) || is_avro_fixed(schema);
  const char* space = named ? avro_schema_namespace(schema) : nullptr;
  const std::string name = avro_schema_type_name(schema);
  return space == nullptr || *space == '\0' ? name : std::string(space) + '.' + name;
}

AvroKind KindOf(avro_schema_t schema) {
  switch (avro_typeof(schema)) {
    case AVRO_BOOLEAN:
      return AvroKind::kBoolean;
    case AVRO_INT32:
      return AvroKind::kInt;
    case AVRO_INT64:
      return AvroKind::kLong;
    case AVRO_FLOAT:
      return AvroKind::kFloat;
    case AVRO_DOUBLE:
      return AvroKind::kDouble;
    case AVRO_BYTES:
      return AvroKind::kBytes;
    case AVRO_STRING:
      return AvroKind::kString;
    case AVRO_RECORD:
      return AvroKind::kRecord;
    case AVRO_ENUM:
      return AvroKind::kEnum;
    case AVRO_FIXED:
      return AvroKind::kFixed;
    case AVRO_ARRAY:
      return AvroKind::kArray;
    case AVRO_MAP:
      return AvroKind::kMap;
    case AVRO_UNION:
      return AvroKind::kUnion;
    default:
      return AvroKind::kNull;
  }
}

// Copies the library's tree, and asks of it what the library does not.
class Reader {
 public:
  StatusOr<AvroTypes> Read(avro_schema_t schema) {
    SLUICE_RETURN_IF_ERROR(Add(schema).status());
    SLUICE_RETURN_IF_ERROR(CheckFinite());
    return std::move(types_);
  }

 private:
  StatusOr<std::size_t> Add(avro_schema_t schema) {
    if (is_avro_link(schema)) schema = avro_schema_link_target(schema);
    if (const auto known = named_.find(schema); known != named_.end()) return known->second;
    if (types_.size() == kSchemaTypesMax) {
      return InvalidArgument("the schema has more than {} types", kSchemaTypesMax);
    }
    const std::size_t at = types_.size();
    types_.push_back({.kind = KindOf(schema), .name = FullName(schema)});
    if (is_avro_record(schema) || is_avro_enum(schema) || is_avro_fixed(schema)) {
      named_.emplace(schema, at);
    }
    SLUICE_RETURN_IF_ERROR(Fill(schema, at));
    return at;
  }

  // By position, since adding a part moves the types.
  Status Fill(avro_schema_t schema, std::size_t at) {
    switch (types_[at].kind) {
      case AvroKind::kRecord:
        return Fields(schema, at);
      case AvroKind::kEnum:
        return Symbols(schema, at);
      case AvroKind::kFixed:
        return Fixed(schema, at);
      case AvroKind::kUnion:
        return Branches(schema, at);
      case AvroKind::kArray:
        return Part(avro_schema_array_items(schema), at);
      case AvroKind::kMap:
        return Part(avro_schema_map_values(schema), at);
      default:
        return {};
    }
  }

  Status Part(avro_schema_t part, std::size_t at) {
    SLUICE_ASSIGN_OR_RETURN(const std::size_t added, Add(part));
    types_[at].parts.push_back(added);
    return {};
  }

  // Whether `name` is the first of its kind in the type.
  bool Place(const std::string& name, int position, std::size_t at) {
    return types_[at].positions.emplace(name, static_cast<std::size_t>(position)).second;
  }

  Status Fields(avro_schema_t record, std::size_t at) {
    const int count = static_cast<int>(avro_schema_record_size(record));
    for (int i = 0; i < count; ++i) {
      const std::string name = avro_schema_record_field_name(record, i);
      if (!Place(name, i, at)) {
        return Invalid(types_[at].name, fmt::format("two fields are named {}", name));
      }
      types_[at].words.push_back(name);
      SLUICE_RETURN_IF_ERROR(Part(avro_schema_record_field_get_by_index(record, i), at));
    }
    return {};
  }

  Status Symbols(avro_schema_t schema, std::size_t at) {
    for (int i = 0; i < avro_schema_enum_number_of_symbols(schema); ++i) {
      const std::string symbol = avro_schema_enum_get(schema, i);
      if (!Place(symbol, i, at)) {
        return Invalid(types_[at].name, fmt::format("symbol {} stands there twice", symbol));
      }
      types_[at].words.push_back(symbol);
    }
    return {};
  }

  Status Fixed(avro_schema_t schema, std::size_t at) {
    const std::int64_t bytes = avro_schema_fixed_size(schema);
    if (bytes < 0) return Invalid(types_[at].name, fmt::format("its size is {}", bytes));
    types_[at].bytes = static_cast<std::size_t>(bytes);
    return {};
  }

  Status Branches(avro_schema_t schema, std::size_t at) {
    const int count = static_cast<int>(avro_schema_union_size(schema));
    for (int i = 0; i < count; ++i) {
      SLUICE_RETURN_IF_ERROR(Part(avro_schema_union_branch(schema, i), at));
      const AvroType& branch = types_[types_[at].parts.back()];
      if (branch.kind == AvroKind::kUnion) return Invalid("a union", "a union directly in it");
      if (!Place(branch.name, i, at)) {
        return Invalid("a union", fmt::format("it has {} twice", branch.name));
      }
    }
    return {};
  }

  // A record that always contains itself has no message. Parts mostly follow what they
  // are part of, so that going backwards needs few rounds.
  Status CheckFinite() {
    std::vector<bool> finite(types_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = types_.size(); i-- > 0;) {
        if (finite[i] || !IsFinite(types_[i], finite)) continue;
        finite[i] = changed = true;
      }
    }
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (!finite[i]) return Invalid(types_[i].name, "it contains itself without an end");
    }
    return {};
  }

  static bool IsFinite(const AvroType& type, const std::vector<bool>& finite) {
    const auto is_finite = [&](std::size_t part) { return static_cast<bool>(finite[part]); };
    if (type.kind == AvroKind::kRecord) {
      return std::all_of(type.parts.begin(), type.parts.end(), is_finite);
    }
    if (type.kind == AvroKind::kUnion) {
      return std::any_of(type.parts.begin(), type.parts.end(), is_finite);
    }
    return true;
  }

  AvroTypes types_;
  std::map<avro_schema_t, std::size_t> named_;
};

}  // namespace

StatusOr<AvroTypes> ReadAvroTypes(std::string_view definition) {
  SLUICE_RETURN_IF_ERROR(CheckDepth(definition));
  const AvroMemory memory;
  avro_schema_t parsed = nullptr;
  if (avro_schema_from_json_length(definition.data(), definition.size(), &parsed) != 0) {
    return InvalidArgument("the schema is not valid: {}", avro_strerror());
  }
  const Handle handle(parsed);
  return Reader().Read(handle.get());
}

}  // namespace sluice::front
