// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads of cold data: what a lane asks of the reader pool and what comes back.
// A scan sees the store as it is when it runs, plus what the overlay held when
// it was asked for; the core merges what changed since (core/tasks/machine.h).
//
// Threading: `RunRead` runs on a reader's thread and touches only the store.
// Failure: a store that cannot be read ends the process.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/tasks/effects.h"
#include "core/tasks/machine.h"
#include "engine/overlay.h"
#include "store/store.h"

namespace sluice::engine {

/// A page of a listing; the lane turns it into a reply.
struct ListRead {
  core::TaskMachine::Listing listing;
  core::Sequence after = 0;
  std::size_t count_max = 0;
};
/// Keys a command found cold; reading them brings them into memory.
struct WarmRead {
  std::vector<std::string> keys;
};

struct ReadRequest {
  std::uint64_t id = 0;  // the lane's
  std::variant<WarmRead, ListRead, core::LoadWindow, core::LoadTasks, core::FindOldest,
               core::FindPurged, core::FindTombstones>
      what;
  Capture overlay;
};

struct ReadResult {
  std::uint64_t id = 0;
  bool is_complete = true;                  // the range was read to its end
  std::vector<core::ScheduleKey> schedule;  // LoadWindow
  std::vector<core::Task> tasks;            // ListRead
  std::optional<core::TaskMachine::Oldest> oldest;
  std::vector<core::Sequence> sequences;  // FindPurged
  std::vector<core::TaskMachine::Tombstone> tombstones;
};

/// Bytes a listing reads at most, so that pages of large tasks stay bounded.
inline constexpr std::size_t kListBytesMax = 8u << 20;

/// Copies what the overlay says of the ranges a request will read.
void CaptureFor(const Overlay& overlay, ReadRequest* request);

ReadResult RunRead(const store::Store& store, const ReadRequest& request);

}  // namespace sluice::engine
