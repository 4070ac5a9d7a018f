// SPDX-License-Identifier: Apache-2.0
#include "store/batch.h"

#include <cstdint>

#include "base/codec.h"

namespace sluice::store {
namespace {

// Part of the format (docs/format/store.md); zero is no tag, so that a hole of
// zero bytes is never a change.
enum class Tag : std::uint8_t { kPut = 1, kDelete = 2, kDeleteRange = 3 };

void AppendTag(ByteWriter& w, Tag tag) { w.U8(static_cast<std::uint8_t>(tag)); }

}  // namespace

void Batch::Put(std::string_view key, std::string_view value) {
  ByteWriter w(&bytes_);
  AppendTag(w, Tag::kPut);
  w.Bytes(key);
  w.Bytes(value);
}

void Batch::Delete(std::string_view key) {
  ByteWriter w(&bytes_);
  AppendTag(w, Tag::kDelete);
  w.Bytes(key);
}

void Batch::DeleteRange(std::string_view from, std::string_view to) {
  if (from >= to) return;  // nothing lies in it
  ByteWriter w(&bytes_);
  AppendTag(w, Tag::kDeleteRange);
  w.Bytes(from);
  w.Bytes(to);
}

Status Batch::Visit(Visitor& visitor) const {
  ByteReader r(bytes_);
  while (!r.done()) {
    const std::size_t offset = bytes_.size() - r.rest().size();
    const std::uint8_t tag = r.U8();
    switch (static_cast<Tag>(tag)) {
      case Tag::kPut: {
        const std::string_view key = r.Bytes();
        const std::string_view value = r.Bytes();
        if (r.ok()) visitor.Put(key, value);
        break;
      }
      case Tag::kDelete: {
        const std::string_view key = r.Bytes();
        if (r.ok()) visitor.Delete(key);
        break;
      }
      case Tag::kDeleteRange: {
        const std::string_view from = r.Bytes();
        const std::string_view to = r.Bytes();
        if (r.ok() && from >= to) {
          return DataLoss("store batch: change at byte {} of {} deletes an empty range", offset,
                          bytes_.size());
        }
        if (r.ok()) visitor.DeleteRange(from, to);
        break;
      }
      default:
        return DataLoss("store batch: change at byte {} of {} has the unknown tag {}", offset,
                        bytes_.size(), tag);
    }
    if (!r.ok()) {
      return DataLoss("store batch: change at byte {} is cut short by the end at byte {}", offset,
                      bytes_.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice::store
