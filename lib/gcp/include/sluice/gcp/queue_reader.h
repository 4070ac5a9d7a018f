// SPDX-License-Identifier: Apache-2.0
#pragma once

// GetQueue of google.cloud.tasks.v2beta3, the version that tells how long a queue
// keeps the names of tasks that are gone (`tombstone_ttl`). One blocking call.
//
// Threading: any thread. Failure: the status of the service or of gRPC.

#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "sluice/gcp/channel_pool.h"

namespace sluice::gcp {

struct QueueFacts {
  std::optional<Duration> tombstone_ttl;  // empty when the service does not say
};

/// Needs the permission cloudtasks.queues.get. Errors: of the call; DEADLINE_EXCEEDED.
StatusOr<QueueFacts> ReadQueue(ChannelPool& pool, std::string_view queue, Duration timeout);

}  // namespace sluice::gcp
