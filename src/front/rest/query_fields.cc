// SPDX-License-Identifier: Apache-2.0
#include "front/rest/query_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/field_mask.pb.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "front/errors.h"

namespace sluice::front {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Status Refused(std::string_view path, std::string_view value, std::string_view why) {
  return AtField(path, InvalidArgument("parameter {}: {} (got \"{}\")", path, why, value));
}

const FieldDescriptor* FindField(const Descriptor& type, std::string_view name) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->name() == name || field->json_name() == name) return field;
  }
  return nullptr;
}

std::string ToSnakeCase(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c >= 'A' && c <= 'Z') {
      out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

void SetMask(std::string_view value, google::protobuf::FieldMask* mask) {
  while (!value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    mask->add_paths(ToSnakeCase(value.substr(0, end)));
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

Status SetLeaf(Message* message, const FieldDescriptor& field, std::string_view path,
               std::string_view value) {
  const Reflection& reflection = *message->GetReflection();
  const bool is_repeated = field.is_repeated();
  const auto put = [&](auto set, auto add, auto typed) {
    if (is_repeated) {
      (reflection.*add)(message, &field, std::move(typed));
    } else {
      (reflection.*set)(message, &field, std::move(typed));
    }
    return absl::OkStatus();
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() != FieldDescriptor::TYPE_STRING) break;
      return put(&Reflection::SetString, &Reflection::AddString, std::string(value));
    case FieldDescriptor::CPPTYPE_BOOL:
      if (value != "true" && value != "false") {
        return Refused(path, value, "must be true or false");
      }
      return put(&Reflection::SetBool, &Reflection::AddBool, value == "true");
    case FieldDescriptor::CPPTYPE_INT32:
      if (const auto number = ParseNumber<std::int32_t>(value)) {
        return put(&Reflection::SetInt32, &Reflection::AddInt32, *number);
      }
      return Refused(path, value, "must be a 32 bit integer");
    case FieldDescriptor::CPPTYPE_INT64:
      if (const auto number = ParseNumber<std::int64_t>(value)) {
        return put(&Reflection::SetInt64, &Reflection::AddInt64, *number);
      }
      return Refused(path, value, "must be a 64 bit integer");
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* named = field.enum_type()->FindValueByName(std::string(value));
      const auto number =
          named != nullptr ? std::optional(named->number()) : ParseNumber<std::int32_t>(value);
      if (!number) return Refused(path, value, "is no value of this enum");
      return put(&Reflection::SetEnumValue, &Reflection::AddEnumValue, *number);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!is_repeated && field.message_type() == google::protobuf::FieldMask::descriptor()) {
        SetMask(value, static_cast<google::protobuf::FieldMask*>(
                           reflection.MutableMessage(message, &field)));
        return absl::OkStatus();
      }
      break;
    default:
      break;
  }
  return Refused(path, value, "a field of this type cannot be given in the URL");
}

}  // namespace

StatusOr<std::vector<QueryParameter>> ParseQuery(std::string_view query) {
  std::vector<QueryParameter> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    std::string text(pair);
    std::replace(text.begin(), text.end(), '+', ' ');
    const std::string_view plain = text;
    auto name = DecodePercent(plain.substr(0, equals));
    auto value = DecodePercent(plain.substr(std::min(equals + 1, plain.size())));
    if (!name || !value) {
      return InvalidArgument("query parameter {}: a '%' must be followed by two hexadecimal digits",
                             pair);
    }
    if (!IsUtf8(*name) || !IsUtf8(*value)) {
      return InvalidArgument("query parameter {}: is not UTF-8", pair);
    }
    parameters.push_back({*std::move(name), *std::move(value)});
  }
  return parameters;
}

Status SetFieldFromText(Message* message, std::string_view path, std::string_view value) {
  std::string_view rest = path;
  while (true) {
    const std::size_t dot = rest.find('.');
    const FieldDescriptor* field = FindField(*message->GetDescriptor(), rest.substr(0, dot));
    if (field == nullptr) {
      return AtField(path, InvalidArgument("parameter {}: {} has no such field", path,
                                           message->GetDescriptor()->full_name()));
    }
    if (dot == std::string_view::npos) return SetLeaf(message, *field, path, value);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) {
      return Refused(path, value, "a part of the path is not a message");
    }
    message = message->GetReflection()->MutableMessage(message, field);
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace sluice::front
