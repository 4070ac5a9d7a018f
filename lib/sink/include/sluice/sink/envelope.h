// SPDX-License-Identifier: Apache-2.0
#pragma once

// One staged task: named, complete, and authorized to be created until its deadline.
// A value; its bytes on disk are the staged mode's codec.

#include <cstdint>
#include <string>

#include "sluice/sink/queue_destination.h"

namespace sluice::sink {

struct Envelope {
  QueueDestination queue;
  std::int64_t origin_millis = 0;    // wall clock when it was staged
  std::int64_t deadline_millis = 0;  // no attempt starts at or after it
  std::string task;                  // the complete named Task, as sent
};

}  // namespace sluice::sink
