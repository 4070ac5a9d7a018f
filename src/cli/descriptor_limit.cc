// SPDX-License-Identifier: Apache-2.0
#include "cli/descriptor_limit.h"

#include <sys/resource.h>

#include "front/net/listener.h"

namespace sluice::cli {
namespace {

/// The log, the store's files, wake-up and listening sockets, standard streams.
constexpr std::uint64_t kOwnFiles = 1024;

}  // namespace

std::uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  // The usual soft limit of 1024 is for programs that call select().
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_cur != before && ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
  return limit.rlim_cur;
}

std::uint64_t DescriptorsNeeded(const admin::ServerOptions& options) {
  const std::uint64_t connections = front::net::ListenerOptions{}.connections_max;
  const std::uint64_t attempts =
      static_cast<std::uint64_t>(options.limits.in_flight_max) + kForcedAttemptsMax;
  // Half as many again stay open idle, for the next attempt to the same target (ADR 0009).
  return connections + attempts + attempts / 2 + kOwnFiles;
}

}  // namespace sluice::cli
