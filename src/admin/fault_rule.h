// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fault to be done to calls of a method, and its JSON form:
//   {"method": "CreateTask", "when": "after_commit", "action": "drop_reply", "count": 1}
// docs/reference/faults.md has every member.
//
// Pure values and functions; any thread. Failure: INVALID_ARGUMENT.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"

namespace sluice::admin {

inline constexpr Duration kFaultDurationMax = absl::Hours(1);
/// Longer than any client waits by default, short enough to be given back.
inline constexpr Duration kDropHoldDefault = absl::Minutes(10);
inline constexpr std::size_t kFaultMessageBytesMax = 1024;

struct FaultRule {
  enum class When : std::uint8_t {
    kBeforeCommit,  // nothing of the call was done
    kAfterCommit,   // the call succeeded durably; only its answer is at stake
  };
  enum class Action : std::uint8_t { kFail, kDelay, kDropReply };

  std::uint64_t id = 0;  // given by the injector
  std::string method;    // "CreateTask", or "*" for all
  When when = When::kBeforeCommit;
  Action action = Action::kFail;
  absl::StatusCode code = absl::StatusCode::kUnavailable;  // of kFail
  std::string message;                                     // of kFail
  /// kDelay: how long. kDropReply: how long the call stays open without an
  /// answer before it is broken off; zero breaks it off at once.
  Duration duration = absl::ZeroDuration();
  double probability = 1;              // of each call that matches
  std::optional<std::uint64_t> count;  // ends after this many hits; unset: never
  std::uint64_t hits = 0;

  [[nodiscard]] bool is_spent() const { return count.has_value() && hits >= *count; }
};

/// Errors: INVALID_ARGUMENT naming the member, the value and what is allowed.
StatusOr<FaultRule> FaultRuleFromJson(const nlohmann::json& json);
[[nodiscard]] nlohmann::json FaultRuleToJson(const FaultRule& rule);

}  // namespace sluice::admin
