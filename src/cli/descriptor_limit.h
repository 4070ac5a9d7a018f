// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many file descriptors this process may have, and how many a server with
// given options can come to need.
//
// Threading: call before other threads start; the limit belongs to the process.
// Failure: a limit that cannot be raised stays, and is what is answered.

#include <cstddef>
#include <cstdint>

#include "admin/server_options.h"

namespace sluice::cli {

/// Attempts beyond limits.in_flight_max that calls to RunTask may start.
inline constexpr std::size_t kForcedAttemptsMax = 5000;

/// Raises the soft limit to the hard one. Answers the limit that holds now; 0
/// when the kernel does not tell it.
std::uint64_t RaiseDescriptorLimit();

/// Descriptors in use when connections and attempts are at their bounds.
[[nodiscard]] std::uint64_t DescriptorsNeeded(const admin::ServerOptions& options);

}  // namespace sluice::cli
