// SPDX-License-Identifier: Apache-2.0
#include "sluice/sink/staged/envelope_codec.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/crc32c.h"
#include "base/text.h"

namespace sluice::sink {
namespace {

constexpr std::uint32_t kMagic = 0x43545345U;

void PutU32(std::string* out, std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

void PutU64(std::string* out, std::uint64_t v) {
  PutU32(out, static_cast<std::uint32_t>(v >> 32));
  PutU32(out, static_cast<std::uint32_t>(v));
}

/// A view that fields are taken off from the front. The caller checks sizes.
class Cursor {
 public:
  explicit Cursor(std::string_view in) : in_(in) {}
  std::uint32_t U32() {
    std::uint32_t v = 0;
    for (const char c : Take(4)) v = v << 8 | static_cast<unsigned char>(c);
    return v;
  }
  std::int64_t I64() {
    const std::uint64_t high = U32();
    return static_cast<std::int64_t>(high << 32 | U32());
  }
  std::string_view Take(std::size_t n) {
    const std::string_view taken = in_.substr(0, n);
    in_.remove_prefix(n);
    return taken;
  }
  [[nodiscard]] std::size_t left() const { return in_.size(); }

 private:
  std::string_view in_;
};

std::int64_t SaturatingDifference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return a > b ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

std::string ToString(const Envelope& envelope) {
  return fmt::format("Envelope{{queue {} bytes, task {} bytes, origin {}, deadline {}}}",
                     envelope.queue.path().size(), envelope.task.size(), envelope.origin_millis,
                     envelope.deadline_millis);
}

std::uint64_t HashOf(const Envelope& envelope) {
  std::uint64_t hash = std::hash<std::string>()(envelope.queue.path());
  const auto mix = [&hash](std::uint64_t v) { hash = (hash ^ v) * 0x9e3779b97f4a7c15ULL; };
  mix(static_cast<std::uint64_t>(envelope.origin_millis));
  mix(static_cast<std::uint64_t>(envelope.deadline_millis));
  mix(std::hash<std::string>()(envelope.task));
  return hash;
}

StatusOr<std::string> EncodeEnvelope(const Envelope& envelope) {
  const std::string& task = envelope.task;
  const std::string& queue = envelope.queue.path();
  if (task.empty() || task.size() > kStagedTaskBytesMax) {
    return OutOfRange("staged task has {} bytes, allowed are 1 to {}", task.size(),
                      kStagedTaskBytesMax);
  }
  if (!IsUtf8(queue)) return InvalidArgument("staged envelope: queue encoding is not UTF-8");
  if (queue.size() > kEnvelopeQueueBytesMax) {
    return InvalidArgument("staged envelope: queue path has {} bytes, allowed are {}", queue.size(),
                           kEnvelopeQueueBytesMax);
  }
  if (envelope.deadline_millis <= envelope.origin_millis) {
    return InvalidArgument("staged envelope: deadline {} is not after origin {}",
                           envelope.deadline_millis, envelope.origin_millis);
  }
  std::string frame;
  frame.reserve(kEnvelopeFrameFixedBytes + queue.size() + task.size());
  PutU32(&frame, kMagic);
  PutU32(&frame, static_cast<std::uint32_t>(queue.size()));
  frame.append(queue);
  PutU64(&frame, static_cast<std::uint64_t>(envelope.origin_millis));
  PutU64(&frame, static_cast<std::uint64_t>(envelope.deadline_millis));
  PutU32(&frame, static_cast<std::uint32_t>(task.size()));
  frame.append(task);
  PutU32(&frame, Crc32c(frame));
  return frame;
}

StatusOr<Envelope> DecodeEnvelope(int version, std::optional<std::string_view> frame) {
  if (version != kEnvelopeVersion) {
    return DataLoss("staged envelope has format version {}, this program reads version {}", version,
                    kEnvelopeVersion);
  }
  if (!frame.has_value() || frame->size() < kEnvelopeFrameFixedBytes ||
      frame->size() > kEnvelopeFrameBytesMax) {
    return DataLoss("staged envelope: frame size {} is outside {} to {}",
                    frame.has_value() ? frame->size() : 0, kEnvelopeFrameFixedBytes,
                    kEnvelopeFrameBytesMax);
  }
  Cursor in(*frame);
  if (in.U32() != kMagic) return DataLoss("staged envelope: wrong magic");
  const std::string_view covered = frame->substr(0, frame->size() - 4);
  if (Crc32c(covered) != Cursor(frame->substr(covered.size())).U32()) {
    return DataLoss("staged envelope: checksum does not match");
  }
  // Lengths are signed on the wire: the top bit set is below zero, not huge.
  const auto queue_length = static_cast<std::int32_t>(in.U32());
  constexpr std::size_t kAfterQueue = 8 + 8 + 4 + 4;
  if (queue_length <= 0 || static_cast<std::size_t>(queue_length) > kEnvelopeQueueBytesMax ||
      static_cast<std::size_t>(queue_length) + kAfterQueue > in.left()) {
    return DataLoss("staged envelope: queue length {} is invalid", queue_length);
  }
  const std::string_view queue = in.Take(static_cast<std::size_t>(queue_length));
  if (!IsUtf8(queue)) return DataLoss("staged envelope: queue encoding is not UTF-8");
  const std::int64_t origin_millis = in.I64();
  const std::int64_t deadline_millis = in.I64();
  const auto task_length = static_cast<std::int32_t>(in.U32());
  const std::size_t task_room = in.left() - 4;
  if (task_length <= 0 || static_cast<std::size_t>(task_length) > kStagedTaskBytesMax ||
      static_cast<std::size_t>(task_length) > task_room) {
    return DataLoss("staged envelope: task length {} is invalid", task_length);
  }
  if (static_cast<std::size_t>(task_length) < task_room) {
    return DataLoss("staged envelope: {} trailing bytes after the task",
                    task_room - static_cast<std::size_t>(task_length));
  }
  StatusOr<QueueDestination> destination = QueueDestination::Parse(queue);
  if (!destination.ok()) return DataLoss("staged envelope: queue path is malformed");
  if (deadline_millis <= origin_millis) {
    return DataLoss("staged envelope: deadline {} is not after origin {}", deadline_millis,
                    origin_millis);
  }
  return Envelope{.queue = *std::move(destination),
                  .origin_millis = origin_millis,
                  .deadline_millis = deadline_millis,
                  .task = std::string(in.Take(static_cast<std::size_t>(task_length)))};
}

StatusOr<std::int64_t> EffectiveDeadline(const Envelope& envelope, const StagedOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t today, options.DeadlineMillis(envelope.origin_millis));
  return std::min(envelope.deadline_millis, today);
}

void ReplaySnapshot::Add(std::int64_t origin_millis, std::int64_t deadline_millis) {
  oldest_origin_millis_ = empty_ ? origin_millis : std::min(oldest_origin_millis_, origin_millis);
  earliest_deadline_millis_ =
      empty_ ? deadline_millis : std::min(earliest_deadline_millis_, deadline_millis);
  empty_ = false;
}

std::int64_t ReplaySnapshot::OldestAgeMillis(std::int64_t now_millis) const {
  if (empty_) return -1;
  return std::max<std::int64_t>(0, SaturatingDifference(now_millis, oldest_origin_millis_));
}

std::int64_t ReplaySnapshot::RemainingMillis(std::int64_t now_millis) const {
  if (empty_) return -1;
  return std::max<std::int64_t>(0, SaturatingDifference(earliest_deadline_millis_, now_millis));
}

}  // namespace sluice::sink
