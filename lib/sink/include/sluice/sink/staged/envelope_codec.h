// SPDX-License-Identifier: Apache-2.0
#pragma once

// The frame of an envelope (version 1), and the rules of its authorization window.
// Layout: docs/format/committer-state.md; order of the checks: sink specification 5.4. The task
// stays the bytes that were staged; task_check.h looks into them.
//
// Threading: pure functions and values.
// Failure: DATA_LOSS for a frame that cannot be trusted, as a whole; no payload,
// name or URL ever appears in a message.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sluice/sink/envelope.h"
#include "sluice/sink/options.h"

namespace sluice::sink {

inline constexpr int kEnvelopeVersion = 1;
inline constexpr std::size_t kStagedTaskBytesMax = 100'000;
inline constexpr std::size_t kEnvelopeQueueBytesMax = 100'000;
inline constexpr std::size_t kEnvelopeFrameFixedBytes = 32;
inline constexpr std::size_t kEnvelopeFrameBytesMax =
    kEnvelopeFrameFixedBytes + kEnvelopeQueueBytesMax + kStagedTaskBytesMax;
/// What an envelope weighs beside its task's bytes in the caps of a batch.
inline constexpr std::int64_t kEnvelopeOverheadBytes = 256;

/// Sizes and times only.
[[nodiscard]] std::string ToString(const Envelope& envelope);

/// Consistent with equality.
[[nodiscard]] std::uint64_t HashOf(const Envelope& envelope);

/// The frame of `envelope`. Errors: OUT_OF_RANGE naming the bound when the task is
/// empty or above 100,000 bytes; INVALID_ARGUMENT for what decoding would refuse.
StatusOr<std::string> EncodeEnvelope(const Envelope& envelope);

/// Reads a frame written by `version` of the format. Nothing is allocated before
/// the lengths are known to be right. Errors: DATA_LOSS naming the first check
/// that failed.
StatusOr<Envelope> DecodeEnvelope(int version, std::optional<std::string_view> frame);

/// The earlier of what was promised when staging and what today's options allow:
/// loosening options revives nothing, tightening counts at once.
StatusOr<std::int64_t> EffectiveDeadline(const Envelope& envelope, const StagedOptions& options);

/// The two numbers behind the age and budget gauges: minima over many envelopes.
class ReplaySnapshot {
 public:
  void Add(std::int64_t origin_millis, std::int64_t deadline_millis);
  void Clear() { *this = ReplaySnapshot(); }
  /// `now` minus the oldest origin, at least 0; -1 when empty.
  [[nodiscard]] std::int64_t OldestAgeMillis(std::int64_t now_millis) const;
  /// The earliest deadline minus `now`, at least 0; -1 when empty.
  [[nodiscard]] std::int64_t RemainingMillis(std::int64_t now_millis) const;

 private:
  bool empty_ = true;
  std::int64_t oldest_origin_millis_ = 0;
  std::int64_t earliest_deadline_millis_ = 0;
};

}  // namespace sluice::sink
