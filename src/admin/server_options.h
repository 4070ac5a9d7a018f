// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a server was told to be: one value that flags, environment and
// configuration file fill in, and that cli/ turns into the parts. Values only.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "core/tasks/machine.h"
#include "log/log.h"

namespace sluice::admin {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat : std::uint8_t { kText, kJson };

struct ListenAddress {
  std::string host = "127.0.0.1";  // without brackets, also for IPv6
  std::uint16_t port = 8085;       // 0: any free one

  /// `HOST:PORT` or `[IPV6]:PORT`. Errors: INVALID_ARGUMENT.
  static StatusOr<ListenAddress> Parse(std::string_view text);
  [[nodiscard]] std::string ToString() const;
  /// Reachable from this machine only.
  [[nodiscard]] bool is_loopback() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

struct ServerOptions {
  std::string config;  // the configuration file; empty: none
  std::vector<ListenAddress> listen = {ListenAddress{}};
  bool allow_plaintext_remote = false;  // without TLS on an address others reach
  std::string tls_cert;
  std::string tls_key;
  std::string port_file;
  std::vector<std::string> locations = {"local"};  // named to clients that ask
  std::string data_dir = "sluice-data";
  bool in_memory = false;
  log::Durability durability = log::Durability::kSync;
  std::vector<log::Position> accept_log_loss;  // named by a message about damage
  Duration shutdown_grace = absl::Seconds(10);
  bool virtual_time = false;
  bool enable_fault_injection = false;
  std::uint64_t fault_seed = 1;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  bool dispatch_skip_tls_verification = false;
  bool dispatch_follow_redirects = false;
  bool dispatch_empty_override_clears = false;
  std::vector<std::string> app_engine_targets;  // as dispatch::AppEngineTable has them
  Duration app_engine_dispatch_deadline = absl::Minutes(10);
  std::string tokens_issuer;  // empty: see IssuerUrl
  Duration tokens_key_lifetime = absl::Hours(24 * 30);
  core::TaskLimits limits;
};

/// The `iss` of tokens: what is set, else the first address listened on, at `port`.
[[nodiscard]] std::string IssuerUrl(const ServerOptions& options, std::uint16_t port);

/// What only holds or fails when all options are known. Errors: INVALID_ARGUMENT.
Status CheckOptions(const ServerOptions& options);

}  // namespace sluice::admin
