// SPDX-License-Identifier: Apache-2.0
#include "admin/virtual_time.h"

#include <nlohmann/json.hpp>

#include "admin/json_answer.h"
#include "admin/value_text.h"

namespace sluice::admin {
namespace {

using Json = nlohmann::json;

StatusOr<std::string> TextMember(const Json& json, const char* member) {
  if (!json[member].is_string()) return InvalidArgument("{}: must be a string", member);
  return json[member].get<std::string>();
}

/// How far the request wants to go.
StatusOr<Duration> StepOf(std::string_view body, Time now) {
  SLUICE_ASSIGN_OR_RETURN(const Json json, ParseObject(body, {"by", "to"}));
  if (json.size() != 1) {
    return InvalidArgument(
        R"(give either "by", such as "10s", or "to", such as "2030-01-31T10:00:00Z")");
  }
  if (json.contains("by")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, TextMember(json, "by"));
    const auto by = ParseSpan(text, absl::ZeroDuration(), kAdvanceMax);
    if (!by.ok()) return InvalidArgument("by: {}", Message(by.status()));
    return *by;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string text, TextMember(json, "to"));
  const auto to = ParseInstant(text);
  if (!to.ok()) return InvalidArgument("to: {}", Message(to.status()));
  if (*to < now) {
    return FailedPrecondition("to: {} is before now, {}; time only moves forward", InstantText(*to),
                              InstantText(now));
  }
  if (*to - now > kAdvanceMax) {
    return InvalidArgument("to: {} is more than {} ahead of now, {}", InstantText(*to),
                           SpanText(kAdvanceMax), InstantText(now));
  }
  return *to - now;
}

}  // namespace

front::net::HttpResponse ShowTime(const env::Clock& clock, bool is_virtual) {
  return JsonAnswer(200, {{"now", InstantText(clock.Now())}, {"virtual", is_virtual}});
}

front::net::HttpResponse AdvanceTime(env::VirtualClock* clock, std::string_view body) {
  if (clock == nullptr) {
    return ErrorAnswer(Status(absl::StatusCode::kPermissionDenied,
                              "this server runs on real time; start it with --virtual-time to "
                              "move time by hand"));
  }
  const auto step = StepOf(body, clock->Now());
  if (!step.ok()) return ErrorAnswer(step.status());
  clock->Advance(*step);
  return JsonAnswer(200, {{"now", InstantText(clock->Now())}, {"advanced_by", SpanText(*step)}});
}

}  // namespace sluice::admin
