// SPDX-License-Identifier: Apache-2.0
#include "admin/fault_rule.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/value_text.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;

template <class Value>
using Choices = std::vector<std::pair<std::string_view, Value>>;

const Choices<FaultRule::When>& WhenNames() {
  static const Choices<FaultRule::When> names = {{"before_commit", FaultRule::When::kBeforeCommit},
                                                 {"after_commit", FaultRule::When::kAfterCommit}};
  return names;
}

const Choices<FaultRule::Action>& ActionNames() {
  static const Choices<FaultRule::Action> names = {{"fail", FaultRule::Action::kFail},
                                                   {"delay", FaultRule::Action::kDelay},
                                                   {"drop_reply", FaultRule::Action::kDropReply}};
  return names;
}

const Choices<absl::StatusCode>& CodeNames() {
  static const Choices<absl::StatusCode> names = {
      {"CANCELLED", absl::StatusCode::kCancelled},
      {"UNKNOWN", absl::StatusCode::kUnknown},
      {"INVALID_ARGUMENT", absl::StatusCode::kInvalidArgument},
      {"DEADLINE_EXCEEDED", absl::StatusCode::kDeadlineExceeded},
      {"NOT_FOUND", absl::StatusCode::kNotFound},
      {"ALREADY_EXISTS", absl::StatusCode::kAlreadyExists},
      {"PERMISSION_DENIED", absl::StatusCode::kPermissionDenied},
      {"RESOURCE_EXHAUSTED", absl::StatusCode::kResourceExhausted},
      {"FAILED_PRECONDITION", absl::StatusCode::kFailedPrecondition},
      {"ABORTED", absl::StatusCode::kAborted},
      {"OUT_OF_RANGE", absl::StatusCode::kOutOfRange},
      {"UNIMPLEMENTED", absl::StatusCode::kUnimplemented},
      {"INTERNAL", absl::StatusCode::kInternal},
      {"UNAVAILABLE", absl::StatusCode::kUnavailable},
      {"DATA_LOSS", absl::StatusCode::kDataLoss},
      {"UNAUTHENTICATED", absl::StatusCode::kUnauthenticated},
  };
  return names;
}

template <class Value>
std::string_view NameIn(const Choices<Value>& names, Value value) {
  for (const auto& [name, each] : names) {
    if (each == value) return name;
  }
  return "";
}

StatusOr<std::string> Text(const Json& json, std::string_view member) {
  const Json& value = json.at(std::string(member));
  if (!value.is_string()) return InvalidArgument("{}: must be a string", member);
  return value.get<std::string>();
}

template <class Value>
StatusOr<Value> Choice(const Json& json, std::string_view member, const Choices<Value>& names) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, Text(json, member));
  std::string allowed;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  return InvalidArgument("{}: \"{}\" is not one of {}", member, text, allowed);
}

Status CheckMembers(const Json& json) {
  static const std::vector<std::string_view> known = {
      "method", "when", "action", "code", "message", "duration", "probability", "count"};
  for (const auto& [member, value] : json.items()) {
    if (std::find(known.begin(), known.end(), member) != known.end()) continue;
    const std::string_view nearest = Nearest(member, known);
    return InvalidArgument("{}: unknown member{}", member,
                           nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  for (const std::string_view required : {"method", "when", "action"}) {
    if (!json.contains(std::string(required))) return InvalidArgument("{}: required", required);
  }
  return {};
}

/// A member that only means something for other actions is refused, not ignored.
Status CheckFits(const Json& json, const FaultRule& rule) {
  const auto refuse = [&](std::string_view member) {
    return InvalidArgument("{}: not allowed with action {}", member,
                           NameIn(ActionNames(), rule.action));
  };
  if (rule.action != FaultRule::Action::kFail) {
    if (json.contains("code")) return refuse("code");
    if (json.contains("message")) return refuse("message");
  } else if (json.contains("duration")) {
    return refuse("duration");
  }
  if (rule.action == FaultRule::Action::kDelay && !json.contains("duration")) {
    return InvalidArgument("duration: required with action delay");
  }
  return {};
}

Status ReadOptional(const Json& json, FaultRule* rule) {
  if (json.contains("code")) {
    SLUICE_ASSIGN_OR_RETURN(rule->code, Choice(json, "code", CodeNames()));
  }
  if (json.contains("message")) {
    SLUICE_ASSIGN_OR_RETURN(rule->message, Text(json, "message"));
    if (rule->message.size() > kFaultMessageBytesMax) {
      return InvalidArgument("message: {} bytes; at most {}", rule->message.size(),
                             kFaultMessageBytesMax);
    }
  }
  if (json.contains("duration")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, Text(json, "duration"));
    const auto duration = ParseSpan(text, absl::ZeroDuration(), kFaultDurationMax);
    if (!duration.ok()) return InvalidArgument("duration: {}", Message(duration.status()));
    rule->duration = *duration;
  }
  if (json.contains("probability")) {
    const Json& value = json["probability"];
    // Written so that a NaN, which JSON has no form for, could not pass either.
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1)) {
      return InvalidArgument("probability: must be a number from 0 to 1");
    }
    rule->probability = value.get<double>();
  }
  if (json.contains("count")) {
    const Json& value = json["count"];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0) {
      return InvalidArgument("count: must be a whole number above 0");
    }
    rule->count = value.get<std::uint64_t>();
  }
  return {};
}

}  // namespace

StatusOr<FaultRule> FaultRuleFromJson(const Json& json) {
  if (!json.is_object()) return InvalidArgument("a fault rule must be a JSON object");
  SLUICE_RETURN_IF_ERROR(CheckMembers(json));
  FaultRule rule;
  SLUICE_ASSIGN_OR_RETURN(rule.method, Text(json, "method"));
  SLUICE_ASSIGN_OR_RETURN(rule.when, Choice(json, "when", WhenNames()));
  SLUICE_ASSIGN_OR_RETURN(rule.action, Choice(json, "action", ActionNames()));
  SLUICE_RETURN_IF_ERROR(CheckFits(json, rule));
  if (rule.action == FaultRule::Action::kDropReply) rule.duration = kDropHoldDefault;
  rule.message = "a fault was injected";
  SLUICE_RETURN_IF_ERROR(ReadOptional(json, &rule));
  return rule;
}

Json FaultRuleToJson(const FaultRule& rule) {
  Json json = {{"id", rule.id},
               {"method", rule.method},
               {"when", NameIn(WhenNames(), rule.when)},
               {"action", NameIn(ActionNames(), rule.action)},
               {"probability", rule.probability},
               {"hits", rule.hits}};
  if (rule.count.has_value()) json["count"] = *rule.count;
  if (rule.action == FaultRule::Action::kFail) {
    json["code"] = NameIn(CodeNames(), rule.code);
    json["message"] = rule.message;
  } else {
    json["duration"] = SpanText(rule.duration);
  }
  return json;
}

}  // namespace sluice::admin
