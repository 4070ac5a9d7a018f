// SPDX-License-Identifier: Apache-2.0
#include "engine/overlay.h"

#include <algorithm>

#include "base/status.h"

namespace sluice::engine {
namespace {

// Rough cost of an entry beside its bytes, so that many small keys count too.
constexpr std::size_t kEntryOverheadBytes = 96;

std::size_t ValueBytes(const std::optional<std::string>& value) {
  return value ? value->size() : 0;
}

}  // namespace

void Overlay::Set(std::string_view key, std::optional<std::string> value) {
  const std::size_t value_bytes = ValueBytes(value);
  auto it = entries_.lower_bound(key);
  if (it == entries_.end() || it->first != key) {
    it = entries_.emplace_hint(it, std::string(key), Entry{});
    bytes_ += key.size() + kEntryOverheadBytes;
  } else {
    bytes_ -= ValueBytes(it->second.value);
  }
  if (it->second.frame != open_frame_) {
    it->second.frame = open_frame_;
    open_.push_back(it);
    open_bytes_ += key.size() + 16;
  } else {
    open_bytes_ -= ValueBytes(it->second.value);
  }
  open_bytes_ += value_bytes;
  bytes_ += value_bytes;
  it->second.value = std::move(value);
}

void Overlay::Put(std::string_view key, std::string value) { Set(key, std::move(value)); }

void Overlay::Delete(std::string_view key) { Set(key, std::nullopt); }

void Overlay::DeleteRange(store::KeyRange range) {
  open_bytes_ += range.from.size() + range.to.size();
  open_ranges_.push_back(std::move(range));
}

const std::optional<std::string>* Overlay::Find(std::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second.value;
}

void Overlay::CaptureRange(const store::KeyRange& range, Capture* out) const {
  const auto end = entries_.lower_bound(range.to);
  for (auto it = entries_.lower_bound(range.from); it != end; ++it) {
    out->emplace(it->first, it->second.value);
  }
}

store::Batch Overlay::CloseFrame() {
  SLUICE_CHECK(!is_open_frame_empty(), "an empty frame is never written");
  store::Batch batch;
  batch.Reserve(open_bytes_);
  // In the order of keys the store finds each place beside the one before. Every
  // key is here once, so the order says nothing else.
  std::sort(open_.begin(), open_.end(),
            [](const auto& a, const auto& b) { return a->first < b->first; });
  // Keys of an erased incarnation may have been changed earlier in this frame,
  // so the ranges come last; no key is put into one after it was erased.
  for (const auto& it : open_) {
    if (it->second.value) {
      batch.Put(it->first, *it->second.value);
    } else {
      batch.Delete(it->first);
    }
  }
  for (const store::KeyRange& range : open_ranges_) batch.DeleteRange(range.from, range.to);
  closed_.emplace_back(open_frame_, std::move(open_));
  open_.clear();
  open_ranges_.clear();
  open_bytes_ = 0;
  ++open_frame_;
  return batch;
}

void Overlay::Applied(FrameNumber frame) {
  while (!closed_.empty() && closed_.front().first <= frame) {
    for (const auto& it : closed_.front().second) {
      // A later frame changed it again: that frame's turn will remove it.
      if (it->second.frame != closed_.front().first) continue;
      bytes_ -= it->first.size() + kEntryOverheadBytes + ValueBytes(it->second.value);
      entries_.erase(it);
    }
    closed_.pop_front();
  }
}

}  // namespace sluice::engine
