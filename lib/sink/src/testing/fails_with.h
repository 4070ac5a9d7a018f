// SPDX-License-Identifier: Apache-2.0
#pragma once

// A status as tests look at it. A pure function; any thread.

#include <string_view>

#include "base/status.h"

namespace sluice::sink::testing {

/// True when `status` is an error whose message has `part`.
inline bool FailsWith(const Status& status, std::string_view part) {
  return !status.ok() && Message(status).find(part) != std::string_view::npos;
}

}  // namespace sluice::sink::testing
