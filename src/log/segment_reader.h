// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads one segment through a sliding window: the frame at an offset, the next
// intact frame after damage, and where the zeros of the unused rest begin. It
// judges bytes only; what they mean for the log is decided in recovery.h.
//
// Threading: one thread. Views stay valid until the next call.
// Failure: whatever the file returns.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "env/file_system.h"
#include "log/format.h"

namespace sluice::log {

class SegmentReader {
 public:
  /// `bytes` is the part of the file that counts, at most its size.
  SegmentReader(std::unique_ptr<env::File> file, std::uint32_t segment, std::uint64_t bytes,
                std::uint64_t log_id)
      : file_(std::move(file)), segment_(segment), bytes_(bytes), log_id_(log_id) {}

  struct Frame {
    FrameHeader header;
    std::string_view payload;
    std::uint64_t end = 0;  // where the next frame would begin
  };

  /// The frame that begins at `offset`, or nothing when no intact one does.
  StatusOr<std::optional<Frame>> FrameAt(std::uint64_t offset);

  /// Where the first intact frame at or after `from` begins. Damage may have hit a
  /// length, so every aligned offset is tried.
  StatusOr<std::optional<std::uint64_t>> FindFrame(std::uint64_t from);

  /// The offset behind the last byte in [from, to) that is not zero; `from` when
  /// there is none.
  StatusOr<std::uint64_t> NonzeroEnd(std::uint64_t from, std::uint64_t to);

  /// At most `bytes_max` bytes at `offset`.
  StatusOr<std::string_view> Peek(std::uint64_t offset, std::uint64_t bytes_max);

  [[nodiscard]] std::uint32_t segment() const { return segment_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] env::File& file() { return *file_; }
  [[nodiscard]] std::unique_ptr<env::File> ReleaseFile() { return std::move(file_); }

 private:
  std::unique_ptr<env::File> file_;
  const std::uint32_t segment_;
  const std::uint64_t bytes_;
  const std::uint64_t log_id_;
  std::string window_;  // file bytes [window_offset_, + size)
  std::uint64_t window_offset_ = 0;
  /// Grows as more is read: of many segments only the first frame is looked at.
  std::uint64_t window_bytes_ = 64u << 10;
};

}  // namespace sluice::log
