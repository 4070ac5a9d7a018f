// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/failure.h"

#include <utility>

namespace sluice::sink {

Failure::Failure(const Status& status) {
  SLUICE_CHECK(!status.ok(), "an OK status is no failure");
  links_.push_back({status.code(), std::string(Message(status))});
}

Failure::Failure(std::optional<absl::StatusCode> code, std::string message) {
  links_.push_back({code, std::move(message)});
}

Failure Failure::WrappedIn(std::string message, std::optional<absl::StatusCode> code) const {
  Failure outer(code, std::move(message));
  outer.links_.insert(outer.links_.end(), links_.begin(), links_.end());
  return outer;
}

std::optional<absl::StatusCode> Failure::code() const {
  for (const Link& link : links_) {
    if (link.code) return link.code;
  }
  return std::nullopt;
}

std::optional<absl::StatusCode> Failure::transient() const {
  for (const Link& link : links_) {
    if (link.code == absl::StatusCode::kUnavailable ||
        link.code == absl::StatusCode::kDeadlineExceeded ||
        link.code == absl::StatusCode::kResourceExhausted) {
      return link.code;
    }
  }
  return std::nullopt;
}

std::string Failure::class_name() const {
  const std::optional<absl::StatusCode> outermost = code();
  return outermost ? StatusCodeName(*outermost) : "UNCLASSIFIED";
}

std::string Failure::ToString() const {
  std::string text;
  for (const Link& link : links_) {
    if (!text.empty()) text += ": ";
    if (link.code) text.append(StatusCodeName(*link.code)).append(link.message.empty() ? "" : " ");
    text += link.message;
  }
  return text;
}

Status Failure::ToStatus() const {
  return Status(code().value_or(absl::StatusCode::kUnknown), ToString());
}

std::string StatusCodeName(absl::StatusCode code) {
  std::string name = absl::StatusCodeToString(code);
  return name.empty() ? "UNKNOWN" : name;  // empty: a number outside the list
}

}  // namespace sluice::sink
