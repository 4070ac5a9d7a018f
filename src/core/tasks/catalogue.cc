// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/catalogue.h"

#include <string>

#include "absl/hash/hash.h"
#include "base/status.h"

namespace sluice::core {

std::size_t Catalogue::NameHash::operator()(const QueueName& name) const {
  return absl::HashOf(name.location.project, name.location.location, name.queue_id);
}

QueueRuntime* Catalogue::Find(const QueueName& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : it->second;
}

QueueRuntime* Catalogue::Find(Incarnation incarnation) const {
  const auto it = queues_.find(incarnation);
  return it == queues_.end() ? nullptr : it->second.get();
}

std::vector<Queue> Catalogue::List(const LocationName& parent, std::string_view after_id,
                                   std::size_t count_max) const {
  std::vector<Queue> queues;
  const QueueName after{parent, std::string(after_id)};
  for (auto it = by_name_.upper_bound(after); it != by_name_.end(); ++it) {
    if (queues.size() == count_max || it->first.location != parent) break;
    queues.push_back(it->second->queue);
  }
  return queues;
}

QueueRuntime& Catalogue::Add(std::unique_ptr<QueueRuntime> queue) {
  QueueRuntime& added = *queue;
  const bool is_new_name = index_.emplace(added.queue.name, &added).second;
  SLUICE_CHECK(is_new_name, "two queues of one name");
  const bool is_new = queues_.emplace(added.incarnation(), std::move(queue)).second;
  SLUICE_CHECK(is_new, "two queues of one incarnation");
  by_name_.emplace(added.queue.name, &added);
  return added;
}

void Catalogue::Remove(QueueRuntime& queue) {
  index_.erase(queue.queue.name);
  by_name_.erase(queue.queue.name);
  queues_.erase(queue.incarnation());
}

std::optional<Time> Catalogue::ReservedUntil(const QueueName& name) const {
  const auto it = reserved_.find(name);
  if (it == reserved_.end()) return std::nullopt;
  return it->second;
}

void Catalogue::Reserve(const QueueName& name, Time until) {
  Release(name);
  reserved_.emplace(name, until);
  reserved_by_end_.insert({until, name});
}

void Catalogue::Release(const QueueName& name) {
  const auto it = reserved_.find(name);
  if (it == reserved_.end()) return;
  reserved_by_end_.erase({it->second, name});
  reserved_.erase(it);
}

Time Catalogue::NextRelease() const {
  return reserved_by_end_.empty() ? absl::InfiniteFuture() : reserved_by_end_.begin()->first;
}

std::optional<QueueName> Catalogue::FirstReleased(Time now) const {
  if (NextRelease() > now) return std::nullopt;
  return reserved_by_end_.begin()->second;
}

}  // namespace sluice::core
