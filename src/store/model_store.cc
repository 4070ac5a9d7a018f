// SPDX-License-Identifier: Apache-2.0
#include "store/model_store.h"

#include <utility>

namespace sluice::store {
namespace {

/// Refuses a damaged batch before anything of it is applied.
class Checker final : public Batch::Visitor {
 public:
  void Put(std::string_view, std::string_view) override {}
  void Delete(std::string_view) override {}
  void DeleteRange(std::string_view, std::string_view) override {}
};

std::uint64_t Mix(std::uint64_t x) {  // the finaliser of splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

/// Changes the map and notes how to take each change back.
class ModelApplier final : public Batch::Visitor {
 public:
  ModelApplier(ModelStore& store, ModelStore::Undo& undo) : store_(store), undo_(undo) {}

  void Put(std::string_view key, std::string_view value) override {
    auto it = store_.rows_.find(key);
    if (it == store_.rows_.end()) {
      undo_.values.emplace_back(key, std::nullopt);
      store_.rows_.emplace(key, value);
      store_.row_bytes_ += key.size() + value.size();
      return;
    }
    store_.row_bytes_ += value.size();
    store_.row_bytes_ -= it->second.size();
    undo_.values.emplace_back(key, std::exchange(it->second, std::string(value)));
  }

  void Delete(std::string_view key) override {
    auto it = store_.rows_.find(key);
    if (it != store_.rows_.end()) Erase(it);
  }

  void DeleteRange(std::string_view from, std::string_view to) override {
    auto it = store_.rows_.lower_bound(from);
    while (it != store_.rows_.end() && it->first < to) it = Erase(it);
  }

 private:
  using Iterator = std::map<std::string, std::string, std::less<>>::iterator;

  Iterator Erase(Iterator it) {
    store_.row_bytes_ -= it->first.size() + it->second.size();
    undo_.values.emplace_back(it->first, std::move(it->second));
    return store_.rows_.erase(it);
  }

  ModelStore& store_;
  ModelStore::Undo& undo_;
};

ModelStore::ModelStore(ModelStoreOptions options) : options_(options) {
  SLUICE_CHECK(options.cold_fraction >= 0 && options.cold_fraction <= 1,
               "cold_fraction must lie between 0 and 1");
}

Status ModelStore::Apply(const Batch& batch) {
  Checker checker;
  SLUICE_RETURN_IF_ERROR(batch.Visit(checker));
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  Undo undo{.values = {}, .bytes = batch.bytes().size()};
  ModelApplier applier(*this, undo);
  SLUICE_RETURN_IF_ERROR(batch.Visit(applier));
  unflushed_bytes_ += undo.bytes;
  unflushed_.push_back(std::move(undo));
  return absl::OkStatus();
}

bool ModelStore::IsColdByNature(std::string_view key) const {
  if (options_.cold_fraction <= 0) return false;
  std::uint64_t hash = Mix(options_.seed);
  for (const char c : key) hash = Mix(hash ^ static_cast<unsigned char>(c));
  return static_cast<double>(hash >> 11) * 0x1p-53 < options_.cold_fraction;
}

StatusOr<Lookup> ModelStore::Get(std::string_view key, ReadMode mode, std::string* value) const {
  const bool is_cold = IsColdByNature(key);
  const std::lock_guard lock(mutex_);
  if (is_cold) {
    if (mode == ReadMode::kBlocking) {
      warmed_.emplace(key);
    } else if (!warmed_.contains(key)) {
      return Lookup::kCold;
    }
  }
  const auto it = rows_.find(key);
  if (it == rows_.end()) return Lookup::kAbsent;
  *value = it->second;
  return Lookup::kFound;
}

StatusOr<bool> ModelStore::Scan(const ScanRange& range, const RowVisitor& visit) const {
  SLUICE_CHECK(range.rows_max > 0, "a scan needs a bound on its rows");
  // Copied first, so that the visitor may use the store, and sees one state.
  std::vector<std::pair<std::string, std::string>> rows;
  bool is_end_reached = true;
  {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (auto it = rows_.lower_bound(range.from); it != rows_.end() && it->first < range.to; ++it) {
      const std::size_t row_bytes = it->first.size() + it->second.size();
      const bool is_too_much =
          range.bytes_max != 0 && !rows.empty() && bytes + row_bytes > range.bytes_max;
      if (rows.size() == range.rows_max || is_too_much) {
        is_end_reached = false;
        break;
      }
      bytes += row_bytes;
      rows.emplace_back(*it);
    }
  }
  for (const auto& [key, value] : rows) {
    ++rows_scanned_;
    if (!visit(key, value)) return false;
  }
  return is_end_reached;
}

void ModelStore::DropUndo(std::size_t count) {
  for (; count > 0; --count) {
    unflushed_bytes_ -= unflushed_.front().bytes;
    unflushed_.pop_front();
  }
}

Status ModelStore::Flush() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  DropUndo(unflushed_.size());
  return absl::OkStatus();
}

std::size_t ModelStore::FlushSome(std::uint64_t random) {
  const std::lock_guard lock(mutex_);
  if (failure_) return 0;
  const std::size_t count = Mix(random) % (unflushed_.size() + 1);
  DropUndo(count);
  return count;
}

void ModelStore::Crash() {
  const std::lock_guard lock(mutex_);
  for (; !unflushed_.empty(); unflushed_.pop_back()) {
    auto& values = unflushed_.back().values;
    for (auto it = values.rbegin(); it != values.rend(); ++it) {
      const auto row = rows_.find(it->first);
      if (row != rows_.end()) {
        row_bytes_ -= row->first.size() + row->second.size();
        rows_.erase(row);
      }
      if (!it->second) continue;
      row_bytes_ += it->first.size() + it->second->size();
      rows_.emplace(std::move(it->first), *std::move(it->second));
    }
  }
  unflushed_bytes_ = 0;
  warmed_.clear();
  failure_.reset();
}

void ModelStore::FailWrites(Status status) {
  SLUICE_CHECK(!status.ok(), "an injected failure must be an error");
  const std::lock_guard lock(mutex_);
  failure_ = std::move(status);
}

StatusOr<std::optional<std::string>> ModelStore::GetFlushed(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  // The oldest unflushed change of the key remembers its flushed value.
  for (const Undo& undo : unflushed_) {
    for (const auto& [changed, before] : undo.values) {
      if (changed == key) return before;
    }
  }
  const auto it = rows_.find(key);
  if (it == rows_.end()) return std::optional<std::string>();
  return std::optional<std::string>(it->second);
}

Status ModelStore::Checkpoint(const std::string& dir) {
  return Unimplemented("checkpoint {}: a store in memory has no files to copy", dir);
}

StoreUsage ModelStore::Usage() const {
  const std::lock_guard lock(mutex_);
  return {.memory_bytes = row_bytes_, .disk_bytes = 0, .unflushed_bytes = unflushed_bytes_};
}

std::size_t ModelStore::unflushed_count() const {
  const std::lock_guard lock(mutex_);
  return unflushed_.size();
}

}  // namespace sluice::store
