// SPDX-License-Identifier: Apache-2.0
#pragma once

// Newline-delimited records from files or standard input, one after the other,
// each with the position after it. A position names bytes, so a later run goes
// on where a checkpoint stood: a file is entered at its offset, and of an input
// which cannot seek (standard input, a pipe) as many bytes are read and left.
//
// Does not look into records. Blank lines are counted and passed over.
//
// Threading: one thread. Failure: an unreadable source is an error for good.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace sluice::runner {

/// A line longer than this is refused: no task could carry it.
inline constexpr std::size_t kRecordBytesMax = std::size_t{4} << 20;

struct SourcePosition {
  std::uint32_t source = 0;  // index among the sources
  std::uint64_t offset = 0;  // bytes of it that were taken
  std::uint64_t line = 0;    // lines of it that were taken, for messages
  friend auto operator<=>(const SourcePosition&, const SourcePosition&) = default;
};

struct Record {
  std::string text;          // without the line break
  std::string place;         // "orders.ndjson:17"
  bool is_too_long = false;  // `text` is its first part only
};

class RecordSource {
 public:
  enum class Outcome : unsigned char { kRecord, kNotYet, kEnd };

  /// `names` are paths, or "-" for standard input.
  /// Errors: INVALID_ARGUMENT for no source, "-" twice and kinds of sources that
  /// are not there yet (`pubsub:`, `kafka:`).
  static StatusOr<std::unique_ptr<RecordSource>> Make(std::vector<std::string> names);
  ~RecordSource();

  /// Goes to where an earlier run stood, before the first `Next`.
  /// Errors: FAILED_PRECONDITION when a source has fewer bytes than were taken.
  Status Seek(const SourcePosition& position);

  /// Waits up to `patience` for input that is not there yet. Errors: NOT_FOUND, INTERNAL.
  StatusOr<Outcome> Next(Duration patience, Record* record);

  /// After the last record handed out (blank lines behind it included).
  [[nodiscard]] const SourcePosition& position() const { return position_; }
  [[nodiscard]] std::uint64_t blank_lines() const { return blank_lines_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  explicit RecordSource(std::vector<std::string> names);
  Status OpenCurrent();
  StatusOr<bool> Fill(Duration patience);  // false: nothing there yet
  bool TakeLine(Record* record);           // false: no whole line in the buffer
  void CloseCurrent();

  std::vector<std::string> names_;
  SourcePosition position_;
  std::uint64_t blank_lines_ = 0;
  int descriptor_ = -1;
  bool is_end_of_file_ = false;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the bytes not taken
  std::size_t scanned_ = 0;  // up to here there is no line break
  bool is_overlong_ = false;
  std::string overlong_head_;
};

}  // namespace sluice::runner
