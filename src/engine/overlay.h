// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changes that are computed but not in the store yet. Design section 4 rule 1:
// a change reaches the store only after its frame's sync returned; until then
// later commands read it here. Changes of the open frame to the same key are
// one change: only the last value is written.
//
// Threading: the lane's thread only; a `Capture` is a copy that may travel.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/keys.h"

namespace sluice::engine {

/// Frames are numbered from 1 in the life of a lane.
using FrameNumber = std::uint64_t;

/// Copied overlay entries of some ranges: a value, or nothing for a deletion.
using Capture = std::map<std::string, std::optional<std::string>, std::less<>>;

class Overlay {
 public:
  void Put(std::string_view key, std::string value);
  void Delete(std::string_view key);
  /// Recorded in the frame; does not hide keys from `Find` (the core never
  /// reads an erased incarnation again).
  void DeleteRange(store::KeyRange range);

  /// Null when the overlay says nothing of the key; else its value or deletion.
  [[nodiscard]] const std::optional<std::string>* Find(std::string_view key) const;
  void CaptureRange(const store::KeyRange& range, Capture* out) const;

  [[nodiscard]] bool is_open_frame_empty() const { return open_.empty() && open_ranges_.empty(); }
  [[nodiscard]] std::size_t open_frame_bytes() const { return open_bytes_; }
  [[nodiscard]] FrameNumber open_frame() const { return open_frame_; }

  /// Ends the open frame and gives its changes.
  store::Batch CloseFrame();
  /// The store now holds every frame up to `frame`: forgets what it brought.
  void Applied(FrameNumber frame);

  [[nodiscard]] std::size_t key_count() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    FrameNumber frame = 0;  // the last one that changed it
    std::optional<std::string> value;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void Set(std::string_view key, std::optional<std::string> value);

  Entries entries_;
  std::vector<Entries::iterator> open_;  // changed in the open frame, each once
  std::vector<store::KeyRange> open_ranges_;
  std::size_t open_bytes_ = 0;
  std::size_t bytes_ = 0;
  FrameNumber open_frame_ = 1;
  std::deque<std::pair<FrameNumber, std::vector<Entries::iterator>>> closed_;  // oldest first
};

}  // namespace sluice::engine
