// SPDX-License-Identifier: Apache-2.0
#include "store/keys.h"

#include <utility>

#include "base/codec.h"

namespace sluice::store {
namespace {

constexpr std::size_t kFieldBytes = 8;

char TagOf(Family family) { return static_cast<char>(family); }

/// Starts a key with its tag and room for what follows.
std::string Begin(Family family, std::size_t fields, std::size_t name_bytes = 0) {
  std::string key;
  key.reserve(1 + fields * kFieldBytes + name_bytes);
  key.push_back(TagOf(family));
  return key;
}

std::string Named(Family family, std::string_view name) {
  std::string key = Begin(family, 0, name.size());
  key.append(name);
  return key;
}

std::string Sequenced(Family family, std::uint64_t incarnation, std::uint64_t sequence) {
  std::string key = Begin(family, 2);
  ByteWriter w(&key);
  w.OrderedU64(incarnation);
  w.OrderedU64(sequence);
  return key;
}

std::string OfIncarnation(Family family, std::uint64_t incarnation) {
  std::string key = Begin(family, 1);
  ByteWriter(&key).OrderedU64(incarnation);
  return key;
}

std::string OfExpiry(std::int64_t expiry_us) {
  std::string key = Begin(Family::kExpiry, 1);
  ByteWriter(&key).OrderedI64(expiry_us);
  return key;
}

std::string OfScheduleTime(std::uint64_t incarnation, std::int64_t schedule_us) {
  std::string key = Begin(Family::kSchedule, 3);
  ByteWriter w(&key);
  w.OrderedU64(incarnation);
  w.OrderedI64(schedule_us);
  return key;
}

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

Status Damaged(std::string_view key, Family family, std::string_view why) {
  return DataLoss("store key {}: not a key of family {}: {}", Hex(key), TagOf(family), why);
}

/// A reader behind the tag of a key whose size is fixed (`is_named` false) or
/// which ends in a name of one byte or more.
StatusOr<ByteReader> Open(std::string_view key, Family family, std::size_t fields, bool is_named) {
  if (key.empty() || key[0] != TagOf(family)) return Damaged(key, family, "another tag");
  const std::size_t fixed = 1 + fields * kFieldBytes;
  if (is_named && key.size() <= fixed) return Damaged(key, family, "no name");
  if (!is_named && key.size() != fixed) return Damaged(key, family, "wrong size");
  return ByteReader(key.substr(1));
}

StatusOr<std::string_view> DecodeNamed(std::string_view key, Family family) {
  SLUICE_ASSIGN_OR_RETURN(const ByteReader r, Open(key, family, 0, true));
  return r.rest();
}

StatusOr<DecodedTaskKey> DecodeSequenced(std::string_view key, Family family) {
  SLUICE_ASSIGN_OR_RETURN(ByteReader r, Open(key, family, 2, false));
  DecodedTaskKey out;
  out.incarnation = r.OrderedU64();
  out.sequence = r.OrderedU64();
  return out;
}

}  // namespace

std::string QueueKey(std::string_view queue_name) { return Named(Family::kQueue, queue_name); }

std::string ReservationKey(std::string_view queue_name) {
  return Named(Family::kReservation, queue_name);
}

std::string BodyKey(std::uint64_t incarnation, std::uint64_t sequence) {
  return Sequenced(Family::kBody, incarnation, sequence);
}

std::string ProgressKey(std::uint64_t incarnation, std::uint64_t sequence) {
  return Sequenced(Family::kProgress, incarnation, sequence);
}

std::string ScheduleKey(std::uint64_t incarnation, std::int64_t schedule_us,
                        std::uint64_t sequence) {
  std::string key = OfScheduleTime(incarnation, schedule_us);
  ByteWriter(&key).OrderedU64(sequence);
  return key;
}

std::string NameKey(std::uint64_t incarnation, std::string_view task_id) {
  std::string key = Begin(Family::kName, 1, task_id.size());
  ByteWriter w(&key);
  w.OrderedU64(incarnation);
  w.Raw(task_id);
  return key;
}

std::string ExpiryKey(std::int64_t expiry_us, std::uint64_t incarnation, std::string_view task_id) {
  std::string key = Begin(Family::kExpiry, 2, task_id.size());
  ByteWriter w(&key);
  w.OrderedI64(expiry_us);
  w.OrderedU64(incarnation);
  w.Raw(task_id);
  return key;
}

std::string CountersKey(std::uint64_t incarnation) {
  return OfIncarnation(Family::kCounters, incarnation);
}

std::string DeadLetterKey(std::uint64_t incarnation, std::uint64_t sequence) {
  return Sequenced(Family::kDeadLetter, incarnation, sequence);
}

std::string DeadHeadKey(std::uint64_t incarnation, std::uint64_t sequence) {
  return Sequenced(Family::kDeadHead, incarnation, sequence);
}

StatusOr<std::string_view> DecodeQueueKey(std::string_view key) {
  return DecodeNamed(key, Family::kQueue);
}

StatusOr<std::string_view> DecodeReservationKey(std::string_view key) {
  return DecodeNamed(key, Family::kReservation);
}

StatusOr<DecodedTaskKey> DecodeBodyKey(std::string_view key) {
  return DecodeSequenced(key, Family::kBody);
}

StatusOr<DecodedTaskKey> DecodeProgressKey(std::string_view key) {
  return DecodeSequenced(key, Family::kProgress);
}

StatusOr<DecodedScheduleKey> DecodeScheduleKey(std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(ByteReader r, Open(key, Family::kSchedule, 3, false));
  DecodedScheduleKey out;
  out.incarnation = r.OrderedU64();
  out.schedule_us = r.OrderedI64();
  out.sequence = r.OrderedU64();
  return out;
}

StatusOr<DecodedNameKey> DecodeNameKey(std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(ByteReader r, Open(key, Family::kName, 1, true));
  DecodedNameKey out;
  out.incarnation = r.OrderedU64();
  out.task_id = r.rest();
  return out;
}

StatusOr<DecodedExpiryKey> DecodeExpiryKey(std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(ByteReader r, Open(key, Family::kExpiry, 2, true));
  DecodedExpiryKey out;
  out.expiry_us = r.OrderedI64();
  out.incarnation = r.OrderedU64();
  out.task_id = r.rest();
  return out;
}

StatusOr<DecodedTaskKey> DecodeDeadHeadKey(std::string_view key) {
  return DecodeSequenced(key, Family::kDeadHead);
}

StatusOr<std::uint64_t> DecodeCountersKey(std::string_view key) {
  SLUICE_ASSIGN_OR_RETURN(ByteReader r, Open(key, Family::kCounters, 1, false));
  return r.OrderedU64();
}

KeyRange PrefixRange(std::string prefix) {
  // The end is the shortest key above all with the prefix: trailing 0xFF bytes
  // have no successor of their own and fall away, the byte before them grows.
  std::string to = prefix;
  while (!to.empty() && to.back() == '\xFF') to.pop_back();
  SLUICE_CHECK(!to.empty(), "a prefix of 0xFF bytes alone has no end");
  to.back() = static_cast<char>(static_cast<unsigned char>(to.back()) + 1);
  return {.from = std::move(prefix), .to = std::move(to)};
}

std::string KeyAfter(std::string_view key) {
  std::string after;
  after.reserve(key.size() + 1);
  after.append(key);
  after.push_back('\0');
  return after;
}

KeyRange FamilyRange(Family family) { return PrefixRange(std::string(1, TagOf(family))); }

KeyRange IncarnationRange(Family family, std::uint64_t incarnation) {
  switch (family) {
    case Family::kBody:
    case Family::kCounters:
    case Family::kDeadLetter:
    case Family::kDeadHead:
    case Family::kName:
    case Family::kProgress:
    case Family::kSchedule:
      return PrefixRange(OfIncarnation(family, incarnation));
    case Family::kExpiry:
    case Family::kMeta:
    case Family::kQueue:
    case Family::kReservation:
      break;
  }
  CheckFailed(__FILE__, __LINE__, "family", "keys of this family do not begin with an incarnation");
}

std::array<KeyRange, 7> IncarnationRanges(std::uint64_t incarnation) {
  return {IncarnationRange(Family::kBody, incarnation),
          IncarnationRange(Family::kCounters, incarnation),
          IncarnationRange(Family::kDeadLetter, incarnation),
          IncarnationRange(Family::kDeadHead, incarnation),
          IncarnationRange(Family::kName, incarnation),
          IncarnationRange(Family::kProgress, incarnation),
          IncarnationRange(Family::kSchedule, incarnation)};
}

KeyRange QueueRange(std::string_view name_prefix) { return PrefixRange(QueueKey(name_prefix)); }

KeyRange BodyRange(std::uint64_t incarnation, std::uint64_t sequence_from) {
  return {.from = BodyKey(incarnation, sequence_from),
          .to = IncarnationRange(Family::kBody, incarnation).to};
}

KeyRange ScheduleRange(std::uint64_t incarnation, std::int64_t from_us, std::uint64_t from_sequence,
                       std::int64_t to_us) {
  return {.from = ScheduleKey(incarnation, from_us, from_sequence),
          .to = OfScheduleTime(incarnation, to_us)};
}

KeyRange ExpiryRange(std::int64_t from_us, std::int64_t to_us) {
  return {.from = OfExpiry(from_us), .to = OfExpiry(to_us)};
}

}  // namespace sluice::store
