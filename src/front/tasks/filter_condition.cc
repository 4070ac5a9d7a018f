// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/filter_condition.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace sluice::front {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kNotRepeated = -1;
constexpr std::size_t kShownLengthMax = 100;

std::string_view Shown(std::string_view text) { return text.substr(0, kShownLengthMax); }

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ToLower);
  return out;
}

template <typename T>
bool Compare(FilterOperator op, const T& left, const T& right) {
  switch (op) {
    case FilterOperator::kEqual:
    case FilterOperator::kHas:
      return left == right;
    case FilterOperator::kNotEqual:
      return left != right;
    case FilterOperator::kLess:
      return left < right;
    case FilterOperator::kLessOrEqual:
      return left <= right;
    case FilterOperator::kGreater:
      return left > right;
    case FilterOperator::kGreaterOrEqual:
      return left >= right;
  }
  return false;
}

bool IsTimestamp(const FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type() == google::protobuf::Timestamp::descriptor();
}

bool IsDuration(const FieldDescriptor& field) {
  return field.message_type() != nullptr &&
         field.message_type() == google::protobuf::Duration::descriptor();
}

// Read by number: a dynamic message of the type is not the generated class.
std::pair<std::int64_t, std::int32_t> SecondsAndNanos(const Message& message) {
  const Descriptor* type = message.GetDescriptor();
  const Reflection* reflection = message.GetReflection();
  return {reflection->GetInt64(message, type->FindFieldByNumber(1)),
          reflection->GetInt32(message, type->FindFieldByNumber(2))};
}

bool IsOrdered(FilterOperator op) {
  return op != FilterOperator::kEqual && op != FilterOperator::kNotEqual &&
         op != FilterOperator::kHas;
}

}  // namespace

StatusOr<FilterCondition> FilterCondition::Make(const Descriptor& message, std::string_view path,
                                                FilterOperator op, std::string_view value,
                                                bool is_quoted) {
  FilterCondition condition;
  condition.op_ = op;
  SLUICE_RETURN_IF_ERROR(condition.ResolvePath(message, path));
  if (op == FilterOperator::kHas && value == "*" && !is_quoted) {
    condition.value_ = AnyValue{};
    return condition;
  }
  SLUICE_RETURN_IF_ERROR(condition.ReadValue(path, value));
  return condition;
}

Status FilterCondition::ResolvePath(const Descriptor& message, std::string_view path) {
  const Descriptor* type = &message;
  std::string_view rest = path;
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string segment(rest.substr(0, dot));
    const FieldDescriptor* field = nullptr;
    if (type != nullptr) {
      field = type->FindFieldByName(segment);
      if (field == nullptr) field = type->FindFieldByCamelcaseName(segment);
    }
    if (field == nullptr || field->is_map()) {
      return InvalidArgument("\"{}\" is not a field of {} that a filter can name", Shown(path),
                             message.name());
    }
    path_.push_back(field);
    if (dot == std::string_view::npos) return absl::OkStatus();
    rest.remove_prefix(dot + 1);
    type = IsTimestamp(*field) || IsDuration(*field) ? nullptr : field->message_type();
  }
}

Status FilterCondition::ReadValue(std::string_view path, std::string_view value) {
  const FieldDescriptor& field = *path_.back();
  const auto refuse = [&](std::string_view what) {
    return InvalidArgument("\"{}\" is compared with {}, not with \"{}\"", Shown(path), what,
                           Shown(value));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto number = ParseNumber<std::int64_t>(value);
      if (!number) return refuse("a whole number");
      value_ = *number;
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const auto number = ParseNumber<double>(value);
      if (!number || !std::isfinite(*number)) return refuse("a number");
      value_ = *number;
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const std::string lower = Lower(value);
      if ((lower != "true" && lower != "false") || IsOrdered(op_)) {
        return refuse("= or != and true or false");
      }
      value_ = lower == "true";
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const std::string wanted = Lower(value);
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        const EnumValueDescriptor& known = *field.enum_type()->value(i);
        if (Lower(known.name()) == wanted) {
          value_ = std::int64_t{known.number()};
          return absl::OkStatus();
        }
      }
      const auto number = ParseNumber<std::int64_t>(value);
      if (!number) return refuse("a value of " + field.enum_type()->name());
      value_ = *number;
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES) return refuse("nothing: it holds bytes");
      value_ = Lower(value);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      if (IsTimestamp(field)) {
        absl::Time time;
        std::string error;
        if (!absl::ParseTime(absl::RFC3339_full, std::string(value), &time, &error)) {
          return refuse("a quoted time like \"2026-01-31T08:00:00Z\"");
        }
        value_ = time;
        return absl::OkStatus();
      }
      if (IsDuration(field)) {
        Duration span;
        if (!absl::ParseDuration(std::string(value), &span)) return refuse("a duration like 3.5s");
        value_ = span;
        return absl::OkStatus();
      }
      return refuse(":* or one of its own fields");
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      break;  // no resource has one
  }
  return refuse("nothing: its type cannot be filtered");
}

bool FilterCondition::Matches(const Message& message) const { return MatchesFrom(message, 0); }

bool FilterCondition::MatchesFrom(const Message& message, std::size_t depth) const {
  const FieldDescriptor& field = *path_[depth];
  const Reflection& reflection = *message.GetReflection();
  const bool is_last = depth + 1 == path_.size();
  if (field.is_repeated()) {
    const int count = reflection.FieldSize(message, &field);
    if (is_last && std::holds_alternative<AnyValue>(value_)) return count > 0;
    // One element that fits is enough.
    for (int i = 0; i < count; ++i) {
      if (is_last ? MatchesElement(message, field, i)
                  : MatchesFrom(reflection.GetRepeatedMessage(message, &field, i), depth + 1)) {
        return true;
      }
    }
    return false;
  }
  if (is_last && std::holds_alternative<AnyValue>(value_)) {
    return reflection.HasField(message, &field);
  }
  if (field.has_presence() && !reflection.HasField(message, &field)) return false;
  if (!is_last) return MatchesFrom(reflection.GetMessage(message, &field), depth + 1);
  return MatchesElement(message, field, kNotRepeated);
}

bool FilterCondition::MatchesElement(const Message& message, const FieldDescriptor& field,
                                     int index) const {
  const Reflection& reflection = *message.GetReflection();
  const bool is_single = index == kNotRepeated;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return Compare<std::int64_t>(op_,
                                   is_single ? reflection.GetInt32(message, &field)
                                             : reflection.GetRepeatedInt32(message, &field, index),
                                   std::get<std::int64_t>(value_));
    case FieldDescriptor::CPPTYPE_INT64:
      return Compare<std::int64_t>(op_,
                                   is_single ? reflection.GetInt64(message, &field)
                                             : reflection.GetRepeatedInt64(message, &field, index),
                                   std::get<std::int64_t>(value_));
    case FieldDescriptor::CPPTYPE_UINT32:
      return Compare<std::int64_t>(op_,
                                   is_single ? reflection.GetUInt32(message, &field)
                                             : reflection.GetRepeatedUInt32(message, &field, index),
                                   std::get<std::int64_t>(value_));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Compare<double>(op_,
                             is_single ? reflection.GetDouble(message, &field)
                                       : reflection.GetRepeatedDouble(message, &field, index),
                             std::get<double>(value_));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Compare<double>(op_,
                             is_single ? reflection.GetFloat(message, &field)
                                       : reflection.GetRepeatedFloat(message, &field, index),
                             std::get<double>(value_));
    case FieldDescriptor::CPPTYPE_BOOL:
      return Compare<bool>(op_,
                           is_single ? reflection.GetBool(message, &field)
                                     : reflection.GetRepeatedBool(message, &field, index),
                           std::get<bool>(value_));
    case FieldDescriptor::CPPTYPE_ENUM:
      return Compare<std::int64_t>(op_,
                                   is_single
                                       ? reflection.GetEnumValue(message, &field)
                                       : reflection.GetRepeatedEnumValue(message, &field, index),
                                   std::get<std::int64_t>(value_));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          Lower(is_single ? reflection.GetString(message, &field)
                          : reflection.GetRepeatedString(message, &field, index));
      const auto& wanted = std::get<std::string>(value_);
      if (op_ == FilterOperator::kHas) return text.find(wanted) != std::string::npos;
      return Compare(op_, text, wanted);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const auto [seconds, nanos] =
          SecondsAndNanos(is_single ? reflection.GetMessage(message, &field)
                                    : reflection.GetRepeatedMessage(message, &field, index));
      const Duration span = absl::Seconds(seconds) + absl::Nanoseconds(nanos);
      if (IsDuration(field)) return Compare(op_, span, std::get<Duration>(value_));
      return Compare(op_, absl::UnixEpoch() + span, std::get<absl::Time>(value_));
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      break;
  }
  return false;
}

}  // namespace sluice::front
