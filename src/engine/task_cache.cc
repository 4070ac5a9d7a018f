// SPDX-License-Identifier: Apache-2.0
#include "engine/task_cache.h"

#include <utility>

namespace sluice::engine {
namespace {

constexpr std::size_t kRowOverheadBytes = 512;  // nodes, strings' headers, progress

std::size_t BytesOf(const core::Task& task) {
  std::size_t bytes = kRowOverheadBytes + task.body->task_id.size() +
                      task.body->request.url.size() + task.body->request.body.size();
  for (const core::Header& header : task.body->request.headers) {
    bytes += header.name.size() + header.value.size() + sizeof header;
  }
  if (task.progress.last_attempt) bytes += task.progress.last_attempt->status.message.size();
  return bytes;
}

}  // namespace

const core::Task* TaskCache::Find(core::Incarnation queue, core::Sequence sequence) {
  const auto it = index_.find(Key{queue, sequence});
  if (it == index_.end()) return nullptr;
  rows_.splice(rows_.begin(), rows_, it->second);
  return &it->second->task;
}

void TaskCache::Put(core::Incarnation queue, const core::Task& task) {
  const Key key{queue, task.body->sequence};
  const std::size_t bytes = BytesOf(task);
  if (const auto it = index_.find(key); it != index_.end()) {
    bytes_ += bytes - it->second->bytes;
    it->second->bytes = bytes;
    it->second->task = task;
    rows_.splice(rows_.begin(), rows_, it->second);
  } else {
    rows_.push_front(Row{key, task, bytes});
    index_.emplace(key, rows_.begin());
    bytes_ += bytes;
  }
  EvictTo(bytes_max_);
}

void TaskCache::Erase(core::Incarnation queue, core::Sequence sequence) {
  const auto it = index_.find(Key{queue, sequence});
  if (it == index_.end()) return;
  bytes_ -= it->second->bytes;
  rows_.erase(it->second);
  index_.erase(it);
}

void TaskCache::EvictTo(std::size_t bytes_max) {
  // The newest row stays even when it alone is larger than the bound.
  while (bytes_ > bytes_max && rows_.size() > 1) {
    const Row& last = rows_.back();
    bytes_ -= last.bytes;
    index_.erase(last.key);
    rows_.pop_back();
  }
}

}  // namespace sluice::engine
