// SPDX-License-Identifier: Apache-2.0
#pragma once

// Settings as an address and an identity. A pure function; any thread.

#include "sluice/gcp/channel_pool.h"
#include "sluice/sink/sink_settings.h"

namespace sluice::sink {

[[nodiscard]] gcp::ServiceAddress AddressOf(const SinkSettings& settings);

}  // namespace sluice::sink
