// SPDX-License-Identifier: Apache-2.0
#pragma once

// Expected failures are values. We use abseil's Status with the canonical
// codes of the public API; the code says what the caller may do next
// (CONTRIBUTING.md, "Errors"). Programmer errors and states that would corrupt
// data end the process through SLUICE_CHECK, also in release builds.
//
// Threading: everything here may be used from any thread.

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sluice {

using absl::Status;
using absl::StatusOr;

/// Drops a status on purpose; `why` is for the reader of the code.
inline void IgnoreError(const Status& status, std::string_view why) {
  static_cast<void>(status);
  static_cast<void>(why);
}

/// The message as a standard view (Debian's abseil has a string_view type of its
/// own, so its functions do not take std::string_view). Valid while `status` is.
inline std::string_view Message(const Status& status) {
  return {status.message().data(), status.message().size()};
}

/// A status with a formatted message, by code: `InvalidArgument("queue {} ...", id)`.
#define SLUICE_STATUS_FACTORY(name, code)                                                    \
  template <typename... Args>                                                                \
  [[nodiscard]] Status name(fmt::format_string<Args...> format, Args&&... args) {            \
    return Status(absl::StatusCode::code, fmt::format(format, std::forward<Args>(args)...)); \
  }
SLUICE_STATUS_FACTORY(InvalidArgument, kInvalidArgument)
SLUICE_STATUS_FACTORY(NotFound, kNotFound)
SLUICE_STATUS_FACTORY(AlreadyExists, kAlreadyExists)
SLUICE_STATUS_FACTORY(FailedPrecondition, kFailedPrecondition)
SLUICE_STATUS_FACTORY(ResourceExhausted, kResourceExhausted)
SLUICE_STATUS_FACTORY(Unavailable, kUnavailable)
SLUICE_STATUS_FACTORY(Unimplemented, kUnimplemented)
SLUICE_STATUS_FACTORY(OutOfRange, kOutOfRange)
SLUICE_STATUS_FACTORY(DataLoss, kDataLoss)
SLUICE_STATUS_FACTORY(Aborted, kAborted)
SLUICE_STATUS_FACTORY(Cancelled, kCancelled)
SLUICE_STATUS_FACTORY(DeadlineExceeded, kDeadlineExceeded)
SLUICE_STATUS_FACTORY(Internal, kInternal)
#undef SLUICE_STATUS_FACTORY

/// Prints where and why, then aborts. Never returns.
[[noreturn]] void CheckFailed(std::string_view file, int line, std::string_view condition,
                              std::string_view message);

}  // namespace sluice

/// Ends the process when a condition that data integrity rests on is false.
#define SLUICE_CHECK(condition, message)                                \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::sluice::CheckFailed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)

#define SLUICE_RETURN_IF_ERROR(expression)                                                         \
  do {                                                                                             \
    if (::absl::Status sluice_status_ = (expression); !sluice_status_.ok()) return sluice_status_; \
  } while (false)

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)
#define SLUICE_ASSIGN_OR_RETURN(target, expression)        \
  auto SLUICE_CONCAT(sluice_or_, __LINE__) = (expression); \
  if (!SLUICE_CONCAT(sluice_or_, __LINE__).ok())           \
    return SLUICE_CONCAT(sluice_or_, __LINE__).status();   \
  target = *std::move(SLUICE_CONCAT(sluice_or_, __LINE__))
