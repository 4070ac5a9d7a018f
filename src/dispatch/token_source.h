// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who gives attempts their bearer tokens: the seam between the dispatcher and the issuer.

#include <string>
#include <string_view>

#include "base/status.h"
#include "core/tasks/target.h"

namespace sluice::dispatch {

class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// What stands behind `Bearer ` in the Authorization header of a call of `url`. May take
  /// milliseconds. Requires: `token` is one.
  virtual StatusOr<std::string> Bearer(const core::Token& token, std::string_view url) = 0;
};

}  // namespace sluice::dispatch
