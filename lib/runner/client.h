// SPDX-License-Identifier: Apache-2.0
#pragma once

// lib/gcp behind the interfaces that lib/sink asks for.
// Threading and failure: as those interfaces say.

#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "runner/options.h"
#include "sluice/gcp/channel_pool.h"
#include "sluice/sink/staged/retention.h"
#include "sluice/sink/task_creator.h"

namespace sluice::runner {

/// Where Google's service is; used without an endpoint of the user's.
inline constexpr std::string_view kGoogleTarget = "cloudtasks.googleapis.com:443";

/// The address and identity that the options name. An emulator has one channel.
StatusOr<std::shared_ptr<gcp::ChannelPool>> MakePool(const RunnerOptions& options);

/// `clock` outlives it. `warn` hears of calls that had to be cut at the close.
std::unique_ptr<sink::TaskCreator> MakeTaskCreator(std::shared_ptr<gcp::ChannelPool> pool,
                                                   const env::MonotonicClock& clock,
                                                   std::function<void(std::string_view)> warn);

std::unique_ptr<sink::QueueRetentionReader> MakeRetentionReader(
    std::shared_ptr<gcp::ChannelPool> pool);

}  // namespace sluice::runner
