// SPDX-License-Identifier: Apache-2.0
#pragma once

// The address of a service as `host:port`, split at the last colon. The host is taken
// as written and not looked at, except for whitespace, which nothing here trims.
// A value; any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::sink {

class Endpoint {
 public:
  /// `setting` names the option in the one message all malformed values get.
  [[nodiscard]] static StatusOr<Endpoint> Parse(std::string_view setting, std::string_view text);

  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }
  friend bool operator==(const Endpoint& a, const Endpoint& b) {
    return a.host_ == b.host_ && a.port_ == b.port_;
  }

 private:
  std::string host_;
  std::uint16_t port_ = 0;
  std::string text_;
};

}  // namespace sluice::sink
