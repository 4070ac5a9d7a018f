// SPDX-License-Identifier: Apache-2.0
#pragma once

// The values behind the keys of store/keys.h, byte for byte as
// docs/format/records.md writes them. Every record begins with its version.
//
// Pure functions; any thread.
// Failure: decoders answer DATA_LOSS for bytes that no encoder wrote and
// FAILED_PRECONDITION for a version this build does not know.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "core/tasks/model.h"
#include "log/log.h"

namespace sluice::engine {

/// What a frame says beside its changes, and what the store remembers of the
/// last frame applied.
struct Checkpoint {
  Time time = absl::UnixEpoch();  // the core's clock; never goes backwards
  core::Incarnation next_incarnation = 1;
  core::Sequence next_sequence = 1;
  Time tombstone_floor = absl::UnixEpoch();
  std::uint64_t generated_id_key = 0;
  /// Counts the starts of the server on this data; a later start's frames carry
  /// a higher one.
  std::uint64_t epoch = 0;
};

/// The record under store::kMetaKey.
struct Meta {
  log::Position applied = log::kBeginning;
  Checkpoint checkpoint;
};

[[nodiscard]] std::string EncodeMeta(const Meta& meta);
[[nodiscard]] StatusOr<Meta> DecodeMeta(std::string_view value);

/// The frame's payload: a checkpoint, then the bytes of a store::Batch.
[[nodiscard]] std::string EncodeFrame(const Checkpoint& checkpoint, std::string_view batch_bytes);
struct DecodedFrame {
  Checkpoint checkpoint;
  std::string_view batch_bytes;
};
[[nodiscard]] StatusOr<DecodedFrame> DecodeFrame(std::string_view payload);

[[nodiscard]] std::string EncodeQueue(const core::Queue& queue);
[[nodiscard]] StatusOr<core::Queue> DecodeQueue(std::string_view value);

[[nodiscard]] std::string EncodeBody(const core::TaskBody& body);
/// `sequence` comes from the key.
[[nodiscard]] StatusOr<core::TaskBody> DecodeBody(core::Sequence sequence, std::string_view value);

[[nodiscard]] std::string EncodeProgress(const core::TaskProgress& progress);
[[nodiscard]] StatusOr<core::TaskProgress> DecodeProgress(std::string_view value);

[[nodiscard]] std::string EncodeNameEntry(const core::NameEntry& entry);
[[nodiscard]] StatusOr<core::NameEntry> DecodeNameEntry(std::string_view value);

[[nodiscard]] std::string EncodeCounters(const core::QueueCounters& counters);
[[nodiscard]] StatusOr<core::QueueCounters> DecodeCounters(std::string_view value);

/// The task's sequence comes from the key.
[[nodiscard]] std::string EncodeDeadLetter(const core::DeadLetter& letter);
[[nodiscard]] StatusOr<core::DeadLetter> DecodeDeadLetter(core::Sequence sequence,
                                                          std::string_view value);
[[nodiscard]] std::string EncodeDeadLetterHead(const core::DeadLetterHead& head);
[[nodiscard]] StatusOr<core::DeadLetterHead> DecodeDeadLetterHead(std::string_view value);

[[nodiscard]] std::string EncodeReservation(Time until);
[[nodiscard]] StatusOr<Time> DecodeReservation(std::string_view value);

}  // namespace sluice::engine
