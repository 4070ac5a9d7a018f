// SPDX-License-Identifier: Apache-2.0
#pragma once

// The keys of queues and tasks in the store, byte for byte as
// docs/format/store.md writes them: a family tag, then big-endian fields, then
// at most one name that runs to the end. So byte order is the order of the
// fields, and all entries of one family and incarnation are one range.
// What the values hold is not known here.
//
// Pure functions; any thread. Views in decoded keys point into the key given.
// Failure: a decoder answers DATA_LOSS for bytes that its encoder cannot write.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::store {

/// First byte of every key; part of the format.
enum class Family : char {
  kBody = 'B',         // incarnation, sequence: what never changes in a task
  kCounters = 'C',     // incarnation: counters of a queue
  kDeadLetter = 'D',   // incarnation, sequence: a task that gave up
  kDeadHead = 'H',     // incarnation, sequence: what is known of it in memory
  kMeta = 'M',         // nothing: the applied position
  kName = 'N',         // incarnation, task id: where a name points
  kProgress = 'P',     // incarnation, sequence: what attempts changed
  kQueue = 'Q',        // queue name: the catalogue
  kReservation = 'R',  // queue name: a deleted queue whose name is still held
  kSchedule = 'S',     // incarnation, time, sequence: order of dispatch
  kExpiry = 'X',       // time, incarnation, task id: when a tombstone ends
};

/// The applied position, in every batch of the store.
inline constexpr std::string_view kMetaKey = "M";

[[nodiscard]] std::string QueueKey(std::string_view queue_name);
[[nodiscard]] std::string ReservationKey(std::string_view queue_name);
[[nodiscard]] std::string BodyKey(std::uint64_t incarnation, std::uint64_t sequence);
[[nodiscard]] std::string ProgressKey(std::uint64_t incarnation, std::uint64_t sequence);
[[nodiscard]] std::string ScheduleKey(std::uint64_t incarnation, std::int64_t schedule_us,
                                      std::uint64_t sequence);
[[nodiscard]] std::string NameKey(std::uint64_t incarnation, std::string_view task_id);
[[nodiscard]] std::string ExpiryKey(std::int64_t expiry_us, std::uint64_t incarnation,
                                    std::string_view task_id);
[[nodiscard]] std::string CountersKey(std::uint64_t incarnation);
[[nodiscard]] std::string DeadLetterKey(std::uint64_t incarnation, std::uint64_t sequence);
[[nodiscard]] std::string DeadHeadKey(std::uint64_t incarnation, std::uint64_t sequence);

struct DecodedTaskKey {
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;
};
struct DecodedScheduleKey {
  std::uint64_t incarnation = 0;
  std::int64_t schedule_us = 0;
  std::uint64_t sequence = 0;
};
struct DecodedNameKey {
  std::uint64_t incarnation = 0;
  std::string_view task_id;
};
struct DecodedExpiryKey {
  std::int64_t expiry_us = 0;
  std::uint64_t incarnation = 0;
  std::string_view task_id;
};

/// The queue name in a key of family kQueue or kReservation.
[[nodiscard]] StatusOr<std::string_view> DecodeQueueKey(std::string_view key);
[[nodiscard]] StatusOr<std::string_view> DecodeReservationKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedTaskKey> DecodeBodyKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedTaskKey> DecodeProgressKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedScheduleKey> DecodeScheduleKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedNameKey> DecodeNameKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedExpiryKey> DecodeExpiryKey(std::string_view key);
[[nodiscard]] StatusOr<DecodedTaskKey> DecodeDeadHeadKey(std::string_view key);
/// The incarnation.
[[nodiscard]] StatusOr<std::uint64_t> DecodeCountersKey(std::string_view key);

/// All keys from `from` on and before `to`.
struct KeyRange {
  std::string from;
  std::string to;
};

/// Every key that begins with `prefix`. Requires: a byte other than 0xFF in it.
[[nodiscard]] KeyRange PrefixRange(std::string prefix);
/// The first key after `key`: where a scan goes on that ended with it.
[[nodiscard]] std::string KeyAfter(std::string_view key);

/// A whole family, over all incarnations.
[[nodiscard]] KeyRange FamilyRange(Family family);
/// One family of one incarnation. Requires: the family's keys begin with the incarnation.
[[nodiscard]] KeyRange IncarnationRange(Family family, std::uint64_t incarnation);
/// Everything a queue's incarnation owns, for DeleteRange when the queue goes.
/// Not in it: kExpiry entries, which order by time and are dropped when due.
[[nodiscard]] std::array<KeyRange, 7> IncarnationRanges(std::uint64_t incarnation);

/// Queues whose name begins with `name_prefix`, such as "projects/p/locations/l/queues/".
[[nodiscard]] KeyRange QueueRange(std::string_view name_prefix);
/// Bodies of an incarnation from `sequence_from` on.
[[nodiscard]] KeyRange BodyRange(std::uint64_t incarnation, std::uint64_t sequence_from);
/// Schedule entries from (from_us, from_sequence) on and before the time `to_us`.
[[nodiscard]] KeyRange ScheduleRange(std::uint64_t incarnation, std::int64_t from_us,
                                     std::uint64_t from_sequence, std::int64_t to_us);
/// Tombstones that end from `from_us` on and before `to_us`.
[[nodiscard]] KeyRange ExpiryRange(std::int64_t from_us, std::int64_t to_us);

}  // namespace sluice::store
