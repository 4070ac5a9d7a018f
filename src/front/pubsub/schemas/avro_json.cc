// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "front/pubsub/schemas/avro_types.h"
#include "front/pubsub/schemas/message_schema.h"

namespace sluice::front {
namespace {

using Json = nlohmann::json;

// The number of bytes that `text` stands for, one a character; nothing when a character
// is beyond 255. Requires: UTF-8, as the JSON parser assures.
std::optional<std::size_t> BytesOf(const std::string& text) {
  std::size_t bytes = 0;
  for (const char byte : text) {
    const auto code = static_cast<std::uint8_t>(byte);
    if (code > 0xC3) return std::nullopt;
    if ((code & 0xC0) != 0x80) ++bytes;
  }
  return bytes;
}

class JsonWalk {
 public:
  explicit JsonWalk(const AvroTypes& types) : types_(types) {}

  Status Value(std::size_t at, const Json& json) {
    if (path_.depth() > kMessageDepthMax) {
      return path_.Error(fmt::format("values nest deeper than {}", kMessageDepthMax));
    }
    const AvroType& type = types_[at];
    switch (type.kind) {
      case AvroKind::kNull:
        return Expect(json.is_null(), "null", json);
      case AvroKind::kBoolean:
        return Expect(json.is_boolean(), "a boolean", json);
      case AvroKind::kInt:
        return Expect(IsWhole(json, 31), "an int", json);
      case AvroKind::kLong:
        return Expect(IsWhole(json, 63), "a long", json);
      case AvroKind::kFloat:
      case AvroKind::kDouble:
        return Expect(json.is_number(), "a number", json);
      case AvroKind::kString:
        return Expect(json.is_string(), "a string", json);
      case AvroKind::kBytes:
      case AvroKind::kFixed:
        return Bytes(type, json);
      case AvroKind::kEnum:
        return Expect(
            json.is_string() && type.positions.contains(json.get_ref<const std::string&>()),
            fmt::format("a symbol of {}", type.name), json);
      case AvroKind::kUnion:
        return Union(type, json);
      case AvroKind::kRecord:
        return Record(type, json);
      case AvroKind::kArray:
        return Array(type, json);
      case AvroKind::kMap:
        return Map(type, json);
    }
    return Internal("no such Avro type");
  }

 private:
  [[nodiscard]] Status Expect(bool is, std::string_view what, const Json& found) const {
    if (is) return {};
    return path_.Error(fmt::format("expected {}, found {}", what,
                                   found.is_primitive() ? Excerpt(found) : found.type_name()));
  }

  static std::string Excerpt(const Json& found) {
    if (found.is_string()) return "a string";
    return found.dump();
  }

  // Whether `json` is a whole number of a signed integer with `bits` bits beside its sign.
  static bool IsWhole(const Json& json, int bits) {
    if (!json.is_number()) return false;
    if (json.is_number_float()) {
      const double number = json.get<double>();
      return std::trunc(number) == number && number >= -std::ldexp(1.0, bits) &&
             number < std::ldexp(1.0, bits);
    }
    const std::int64_t most = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
    if (json.is_number_unsigned())
      return json.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    const auto number = json.get<std::int64_t>();
    return number <= most && number >= -most - 1;
  }

  [[nodiscard]] Status Bytes(const AvroType& type, const Json& json) const {
    SLUICE_RETURN_IF_ERROR(Expect(json.is_string(), "a string of bytes", json));
    const std::optional<std::size_t> bytes = BytesOf(json.get_ref<const std::string&>());
    if (!bytes) return path_.Error("a string of bytes holds a character beyond 255");
    if (type.kind == AvroKind::kBytes || *bytes == type.bytes) return {};
    return path_.Error(
        fmt::format("expected {} bytes of {}, found {}", type.bytes, type.name, *bytes));
  }

  Status Union(const AvroType& type, const Json& json) {
    if (json.is_null() && type.positions.contains("null")) return {};
    if (json.is_object() && json.size() == 1) {
      const std::string& name = json.begin().key();
      if (const auto branch = type.positions.find(name); branch != type.positions.end()) {
        const AvroPath::Scope scope(&path_, "." + name);
        return name == "null" ? path_.Error("null names no branch")
                              : Value(type.parts[branch->second], json.begin().value());
      }
    }
    std::string names;
    for (const std::size_t part : type.parts)
      names += (names.empty() ? "" : ", ") + types_[part].name;
    return Expect(false, "an object that names one branch of " + names, json);
  }

  Status Record(const AvroType& type, const Json& json) {
    SLUICE_RETURN_IF_ERROR(Expect(json.is_object(), "an object, record " + type.name, json));
    for (std::size_t i = 0; i < type.parts.size(); ++i) {
      const AvroPath::Scope scope(&path_, "." + type.words[i]);
      const auto field = json.find(type.words[i]);
      if (field == json.end()) return path_.Error("the field is missing");
      SLUICE_RETURN_IF_ERROR(Value(type.parts[i], *field));
    }
    if (json.size() == type.words.size()) return {};
    for (const auto& [name, value] : json.items()) {
      if (!type.positions.contains(name)) {
        return path_.Error(
            fmt::format("record {} has no field {}", type.name, name.substr(0, 100)));
      }
    }
    return {};
  }

  Status Array(const AvroType& type, const Json& json) {
    SLUICE_RETURN_IF_ERROR(Expect(json.is_array(), "an array", json));
    const AvroPath::Scope scope(&path_, "[]");
    for (const Json& item : json) SLUICE_RETURN_IF_ERROR(Value(type.parts[0], item));
    return {};
  }

  Status Map(const AvroType& type, const Json& json) {
    SLUICE_RETURN_IF_ERROR(Expect(json.is_object(), "an object, a map", json));
    const AvroPath::Scope scope(&path_, "[]");
    for (const Json& value : json) SLUICE_RETURN_IF_ERROR(Value(type.parts[0], value));
    return {};
  }

  const AvroTypes& types_;
  AvroPath path_;
};

}  // namespace

Status ValidateAvroJson(const AvroTypes& types, std::string_view data) {
  const Json json = Json::parse(data, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("the message is not one JSON value");
  return JsonWalk(types).Value(0, json);
}

}  // namespace sluice::front
