// SPDX-License-Identifier: Apache-2.0
#include "core_targets.h"

#include "base/http_headers.h"
#include "base/names.h"
#include "base/status.h"
#include "base/text.h"
#include "engine/records.h"
#include "log/format.h"

namespace sluice::fuzz {
namespace {

template <typename Name>
void NameRoundTrips(std::string_view input) {
  const StatusOr<Name> name = Name::Parse(input);
  if (name.ok()) SLUICE_CHECK(name->ToString() == input, "a name is what it was parsed from");
}

// What a decoder takes, its encoder writes so that the decoder takes it again.
template <typename Decode, typename Encode>
void RecordRoundTrips(std::string_view input, Decode decode, Encode encode) {
  const auto first = decode(input);
  if (!first.ok()) return;
  const std::string bytes = encode(*first);
  const auto again = decode(bytes);
  SLUICE_CHECK(again.ok(), "what was encoded can be decoded");
  SLUICE_CHECK(encode(*again) == bytes, "and is the same record");
}

}  // namespace

void FuzzNames(std::string_view input) {
  NameRoundTrips<LocationName>(input);
  NameRoundTrips<QueueName>(input);
  NameRoundTrips<TaskName>(input);
}

void FuzzLogFrame(std::string_view input) {
  static_cast<void>(log::ParseSegmentFileName(input));
  static_cast<void>(log::DecodeSegmentHeader(input));
  if (input.size() < log::kFrameHeaderBytes) return;
  const auto header = log::DecodeFrameHeader(input);
  if (!header) return;
  constexpr std::uint64_t kLogId = 7;
  const std::uint64_t frame_bytes = log::kFrameHeaderBytes + header->payload_bytes;
  if (frame_bytes > input.size()) return;
  static_cast<void>(log::ClaimsPosition(input, header->position));
  if (!log::IsChecksumRight(*header, input.substr(0, frame_bytes), kLogId)) return;
  std::string written;
  log::EncodeFrame(*header, input.substr(log::kFrameHeaderBytes, header->payload_bytes), kLogId,
                   &written);
  SLUICE_CHECK(std::string_view(written).substr(0, frame_bytes) == input.substr(0, frame_bytes),
               "a frame that verifies is the one that was written");
}

void FuzzRecords(std::string_view input) {
  if (input.empty()) return;
  const std::string_view value = input.substr(1);
  switch (input.front() % 7) {
    case 0:
      return RecordRoundTrips(value, engine::DecodeMeta, engine::EncodeMeta);
    case 1:
      return RecordRoundTrips(value, engine::DecodeQueue, engine::EncodeQueue);
    case 2:
      return RecordRoundTrips(
          value, [](std::string_view bytes) { return engine::DecodeBody(1, bytes); },
          engine::EncodeBody);
    case 3:
      return RecordRoundTrips(value, engine::DecodeProgress, engine::EncodeProgress);
    case 4:
      return RecordRoundTrips(value, engine::DecodeNameEntry, engine::EncodeNameEntry);
    case 5:
      return RecordRoundTrips(value, engine::DecodeCounters, engine::EncodeCounters);
    default:
      return static_cast<void>(engine::DecodeFrame(value));
  }
}

}  // namespace sluice::fuzz
