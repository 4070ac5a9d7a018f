// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real client of a sink: channels, credentials and calls, made of its settings. It
// reads a key file and opens channels when the first writer or committer asks, never
// before: a sink that is only built touches nothing.
//
//   const SinkClient client = MakeClient(sink.settings(), clock);
//   auto writer = sink.OpenWriter(host, client);
//
// A host with connections of its own gives a SinkClient of its own instead. Whoever calls
// MakeClient links sluice_sink_client, which brings gRPC; the rest of the library does not.
//
// Threading: one opening at a time; what was opened as its own interface says.
// Failure: FAILED_PRECONDITION for settings that exclude each other; a key file that
// cannot be used has one fixed message without its path or content.

#include <functional>
#include <string_view>

#include "env/monotonic_clock.h"
#include "sluice/sink/sink_settings.h"
#include "sluice/sink/staged/retention.h"
#include "sluice/sink/task_creator.h"

namespace sluice::sink {

/// Where Google's service is; used without an endpoint of the user's.
inline constexpr std::string_view kGoogleTarget = "cloudtasks.googleapis.com:443";

/// What writers and committers open; each opening is closed by whoever asked for it.
struct SinkClient {
  TaskCreatorFactory make_creator;
  /// Null when the service does not tell how long it keeps names: an emulator.
  RetentionReaderFactory make_reader;
};

/// `clock` outlives what is opened. `warn` hears, on any thread, of calls that a close had
/// to cut; standard error without one. Everything opened shares one pool of channels.
[[nodiscard]] SinkClient MakeClient(SinkSettings settings, const env::MonotonicClock& clock,
                                    std::function<void(std::string_view)> warn = nullptr);

}  // namespace sluice::sink
