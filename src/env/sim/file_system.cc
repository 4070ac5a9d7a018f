// SPDX-License-Identifier: Apache-2.0
#include "env/sim/file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::env {

struct SimFileSystem::Inode {
  bool is_directory = false;
  std::string content;          // what reads show
  std::string durable;          // what a power cut leaves at least
  std::vector<Change> changes;  // between the two, oldest first
};

class SimFileSystem::Handle : public File {
 public:
  Handle(SimFileSystem* fs, std::shared_ptr<Inode> inode, std::string path, bool is_writable)
      : fs_(fs),
        inode_(std::move(inode)),
        path_(std::move(path)),
        is_writable_(is_writable),
        generation_(fs->generation_) {}

  Status WriteAt(std::uint64_t offset, std::string_view data) override {
    if (data.empty()) return absl::OkStatus();
    return Write(SimOperation::kWrite,
                 Change{.offset = offset, .bytes = data.size(), .data = std::string(data)});
  }

  Status ZeroAt(std::uint64_t offset, std::uint64_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return Write(SimOperation::kZero, Change{.offset = offset, .bytes = bytes});
  }

  Status Truncate(std::uint64_t bytes) override {
    return Write(SimOperation::kTruncate, Change{.size_after = bytes, .is_truncation = true});
  }

  StatusOr<std::uint64_t> ReadAt(std::uint64_t offset, std::uint64_t bytes,
                                 char* out) const override {
    const std::lock_guard lock(fs_->mutex_);
    SLUICE_RETURN_IF_ERROR(fs_->CheckAlive(generation_));
    const std::string& content = inode_->content;
    if (offset >= content.size()) return std::uint64_t{0};
    const std::uint64_t n = std::min<std::uint64_t>(bytes, content.size() - offset);
    return content.copy(out, n, offset);
  }

  Status SyncData() override {
    fs_->RunHook(SimOperation::kSyncData, path_);
    const std::lock_guard lock(fs_->mutex_);
    SLUICE_RETURN_IF_ERROR(fs_->CheckAlive(generation_));
    SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, fs_->Begin(SimOperation::kSyncData));
    if (verdict == Verdict::kFail) fs_->SyncSome(*inode_);
    if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) {
      for (const Change& change : inode_->changes) Apply(change, &inode_->durable);
      inode_->changes.clear();
    }
    return fs_->End(verdict);
  }

  StatusOr<std::uint64_t> Size() const override {
    const std::lock_guard lock(fs_->mutex_);
    SLUICE_RETURN_IF_ERROR(fs_->CheckAlive(generation_));
    return inode_->content.size();
  }

 private:
  Status Write(SimOperation operation, Change change) {
    fs_->RunHook(operation, path_);
    const std::lock_guard lock(fs_->mutex_);
    SLUICE_RETURN_IF_ERROR(fs_->CheckAlive(generation_));
    if (!is_writable_) return FailedPrecondition("write to {}: opened for reading", path_);
    SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, fs_->Begin(operation));
    return fs_->Record(*inode_, std::move(change), verdict);
  }

  SimFileSystem* const fs_;
  const std::shared_ptr<Inode> inode_;
  const std::string path_;
  const bool is_writable_;
  const std::uint64_t generation_;
};

class SimFileSystem::LockHandle : public FileLock {
 public:
  LockHandle(SimFileSystem* fs, std::string path)
      : fs_(fs), path_(std::move(path)), generation_(fs->generation_) {}
  ~LockHandle() override {
    const std::lock_guard lock(fs_->mutex_);
    if (fs_->generation_ == generation_) fs_->locks_.erase(path_);
  }

 private:
  SimFileSystem* const fs_;
  const std::string path_;
  const std::uint64_t generation_;
};

SimFileSystem::SimFileSystem(std::uint64_t seed) : random_(seed) {}
SimFileSystem::~SimFileSystem() = default;

// --- chance, faults and stops ---

std::uint64_t SimFileSystem::Random(std::uint64_t below) { return random_() % below; }

void SimFileSystem::RunHook(SimOperation operation, const std::string& path) {
  std::function<void(SimOperation, const std::string&)> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = hook_;
  }
  if (hook) hook(operation, path);
}

Status SimFileSystem::CheckAlive(std::uint64_t generation) const {
  if (is_stopped_) return Unavailable("model disk: the power is off");
  if (generation != generation_) return Unavailable("model disk: handle of an earlier process");
  return absl::OkStatus();
}

StatusOr<SimFileSystem::Verdict> SimFileSystem::Begin(SimOperation operation) {
  ++operations_;
  if (stop_at_.has_value() && operations_ >= *stop_at_) {
    stop_at_.reset();
    is_stopped_ = true;
    return Random(2) == 0 ? Verdict::kStopBefore : Verdict::kStopAfter;
  }
  const auto it = failures_.find(operation);
  if (it != failures_.end() && --it->second == 0) {
    failures_.erase(it);
    return Verdict::kFail;
  }
  return Verdict::kGo;
}

Status SimFileSystem::End(Verdict verdict) const {
  switch (verdict) {
    case Verdict::kGo:
      return absl::OkStatus();
    case Verdict::kFail:
      return Internal("model disk: injected failure");
    case Verdict::kStopBefore:
    case Verdict::kStopAfter:
      break;
  }
  return Unavailable("model disk: the power went");
}

void SimFileSystem::FailAfter(SimOperation operation, std::uint64_t calls) {
  const std::lock_guard lock(mutex_);
  failures_[operation] = calls;
}

void SimFileSystem::StopAfter(std::uint64_t operations) {
  const std::lock_guard lock(mutex_);
  stop_at_ = operations_ + operations;
}

bool SimFileSystem::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

std::uint64_t SimFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void SimFileSystem::SetCapacity(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::uint64_t SimFileSystem::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return UsedBytes();
}

void SimFileSystem::SetHook(std::function<void(SimOperation, const std::string& path)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void SimFileSystem::FlipBit(const std::string& path, std::uint64_t offset, int bit) {
  const std::lock_guard lock(mutex_);
  Inode* inode = Find(path);
  SLUICE_CHECK(inode != nullptr && offset < inode->content.size(), "no such byte to flip");
  const auto flip = [bit](char* byte) { *byte = static_cast<char>(*byte ^ (1 << bit)); };
  flip(&inode->content[offset]);
  if (offset < inode->durable.size()) flip(&inode->durable[offset]);
  for (Change& change : inode->changes) {
    if (!change.data.empty() && offset >= change.offset && offset - change.offset < change.bytes) {
      flip(&change.data[offset - change.offset]);
    }
  }
}

// --- bytes ---

void SimFileSystem::Apply(const Change& change, std::string* content) {
  if (change.is_truncation) {
    content->resize(change.size_after, '\0');
    return;
  }
  if (content->size() < change.offset + change.bytes) {
    content->resize(change.offset + change.bytes, '\0');
  }
  if (change.data.empty()) {
    std::memset(content->data() + change.offset, 0, change.bytes);
  } else {
    std::memcpy(content->data() + change.offset, change.data.data(), change.bytes);
  }
}

std::uint64_t SimFileSystem::UsedBytes() const {
  std::set<const Inode*> seen;  // a link is no second file
  std::uint64_t bytes = 0;
  for (const auto& [path, inode] : names_) {
    if (seen.insert(inode.get()).second) bytes += inode->content.size();
  }
  return bytes;
}

Status SimFileSystem::Record(Inode& inode, Change change, Verdict verdict) {
  if (verdict == Verdict::kStopBefore) return End(verdict);
  Status result = End(verdict);
  if (!change.is_truncation) {
    if (verdict == Verdict::kFail) change.bytes = Random(change.bytes + 1);
    const std::uint64_t size = inode.content.size();
    if (capacity_.has_value() && change.offset + change.bytes > size) {
      const std::uint64_t used = UsedBytes();
      const std::uint64_t size_max = size + (*capacity_ > used ? *capacity_ - used : 0);
      if (change.offset + change.bytes > size_max) {
        if (result.ok()) result = ResourceExhausted("model disk: {} bytes are full", *capacity_);
        change.bytes = size_max > change.offset ? Random(size_max - change.offset + 1) : 0;
      }
    }
    if (change.bytes == 0) return result;
    if (!change.data.empty()) change.data.resize(change.bytes);
    change.size_after = std::max(size, change.offset + change.bytes);
  }
  Apply(change, &inode.content);
  inode.changes.push_back(std::move(change));
  return result;
}

/// A failed sync: each sector's newest bytes are on disk, or never will be.
void SimFileSystem::SyncSome(Inode& inode) {
  Settle(inode);
  inode.changes.clear();
}

/// Gives `durable` what the disk happens to hold of the unsynced changes.
void SimFileSystem::Settle(Inode& inode) {
  if (inode.changes.empty()) return;
  const std::uint64_t count = inode.changes.size();
  // How many of the changes each sector has seen. Four shapes, since a uniformly
  // random one would hardly ever give the plain cases.
  enum Shape : std::uint8_t { kNothing, kEverything, kPrefix, kTornLast, kIndependent, kShapes };
  const std::uint64_t shape = Random(kShapes);
  const std::uint64_t prefix = Random(count + 1);
  const Change& last = inode.changes.back();
  const std::uint64_t torn_at =
      last.offset / kSimSectorBytes + Random(last.bytes / kSimSectorBytes + 2);
  std::map<std::uint64_t, std::uint64_t> chosen;  // one choice a sector, made once
  const auto seen_by = [&](std::uint64_t sector) -> std::uint64_t {
    switch (shape) {
      case kNothing:
        return 0;
      case kEverything:
        return count;
      case kPrefix:
        return prefix;
      case kTornLast:
        return sector < torn_at ? count : count - 1;
      default:
        break;
    }
    const auto [it, is_new] = chosen.try_emplace(sector, 0);
    if (is_new) it->second = Random(count + 1);
    return it->second;
  };

  const std::uint64_t size_prefix = shape == kNothing      ? 0
                                    : shape == kEverything ? count
                                                           : Random(count + 1);
  const std::uint64_t size =
      size_prefix == 0 ? inode.durable.size() : inode.changes[size_prefix - 1].size_after;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Change& change = inode.changes[i];
    if (change.is_truncation) {
      if (shape == kEverything || (shape != kNothing && i < prefix)) Apply(change, &inode.durable);
      continue;
    }
    std::uint64_t at = change.offset;
    const std::uint64_t end = change.offset + change.bytes;
    while (at < end) {
      const std::uint64_t sector = at / kSimSectorBytes;
      const std::uint64_t next = std::min(end, (sector + 1) * kSimSectorBytes);
      if (i < seen_by(sector)) {
        Change piece{.offset = at, .bytes = next - at};
        if (!change.data.empty()) piece.data = change.data.substr(at - change.offset, next - at);
        Apply(piece, &inode.durable);
      }
      at = next;
    }
  }
  inode.durable.resize(size, '\0');
}

// --- names ---

SimFileSystem::Inode* SimFileSystem::Find(const std::string& path) const {
  const auto it = names_.find(path);
  return it == names_.end() ? nullptr : it->second.get();
}

Status SimFileSystem::CheckParent(const std::string& path) const {
  const std::string parent = ParentPath(path);
  if (parent == "." || parent == "/") return absl::OkStatus();
  const Inode* inode = Find(parent);
  if (inode == nullptr || !inode->is_directory) {
    return NotFound("model disk: no folder {} for {}", parent, path);
  }
  return absl::OkStatus();
}

void SimFileSystem::Apply(const NameChange& change, Names* names) {
  if (!change.to.empty()) {
    const auto it = names->find(change.path);
    if (it == names->end()) return;
    (*names)[change.to] = it->second;
    names->erase(change.path);
  } else if (change.inode != nullptr) {
    (*names)[change.path] = change.inode;
  } else {
    names->erase(change.path);
  }
}

void SimFileSystem::ChangeName(const std::string& path, std::shared_ptr<Inode> inode) {
  name_changes_.push_back(
      NameChange{.dir = ParentPath(path), .path = path, .inode = std::move(inode)});
  Apply(name_changes_.back(), &names_);
}

StatusOr<std::unique_ptr<File>> SimFileSystem::Open(const std::string& path, OpenMode mode) {
  const bool may_create = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
  if (may_create) RunHook(SimOperation::kCreate, path);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  const auto it = names_.find(path);
  if (it != names_.end()) {
    if (it->second->is_directory) return FailedPrecondition("open {}: it is a folder", path);
    if (mode == OpenMode::kCreateNew) return AlreadyExists("open {}: it exists", path);
    return std::make_unique<Handle>(this, it->second, path, mode != OpenMode::kRead);
  }
  if (!may_create) return NotFound("open {}: no such file", path);
  SLUICE_RETURN_IF_ERROR(CheckParent(path));
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kCreate));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) {
    ChangeName(path, std::make_shared<Inode>());
  }
  SLUICE_RETURN_IF_ERROR(End(verdict));
  return std::make_unique<Handle>(this, names_.at(path), path, true);
}

StatusOr<FileStat> SimFileSystem::Stat(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  const Inode* inode = Find(path);
  if (inode == nullptr) return NotFound("stat {}: no such file", path);
  return FileStat{.bytes = inode->content.size(), .is_directory = inode->is_directory};
}

StatusOr<std::vector<std::string>> SimFileSystem::List(const std::string& dir) const {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  SLUICE_RETURN_IF_ERROR(CheckParent(JoinPath(dir, "x")));
  std::vector<std::string> names;
  for (const auto& [path, inode] : names_) {
    if (ParentPath(path) == dir) names.push_back(path.substr(path.rfind('/') + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status SimFileSystem::CreateDirectory(const std::string& dir) {
  RunHook(SimOperation::kCreateDirectory, dir);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  if (const Inode* inode = Find(dir); inode != nullptr) {
    if (inode->is_directory) return absl::OkStatus();
    return AlreadyExists("create folder {}: a file has that name", dir);
  }
  SLUICE_RETURN_IF_ERROR(CheckParent(dir));
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kCreateDirectory));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) {
    auto inode = std::make_shared<Inode>();
    inode->is_directory = true;
    ChangeName(dir, std::move(inode));
  }
  return End(verdict);
}

Status SimFileSystem::Remove(const std::string& path) {
  RunHook(SimOperation::kRemove, path);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  const Inode* inode = Find(path);
  if (inode == nullptr) return NotFound("remove {}: no such file", path);
  if (inode->is_directory) {
    const auto child = names_.lower_bound(path + "/");
    if (child != names_.end() && child->first.starts_with(path + "/")) {
      return FailedPrecondition("remove {}: the folder is not empty", path);
    }
  }
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kRemove));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) ChangeName(path, nullptr);
  return End(verdict);
}

Status SimFileSystem::Rename(const std::string& from, const std::string& to) {
  RunHook(SimOperation::kRename, from);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  const auto it = names_.find(from);
  if (it == names_.end()) return NotFound("rename {}: no such file", from);
  const std::shared_ptr<Inode> inode = it->second;
  if (inode->is_directory) return Unimplemented("model disk: rename of the folder {}", from);
  SLUICE_RETURN_IF_ERROR(CheckParent(to));
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kRename));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) {
    if (ParentPath(from) == ParentPath(to)) {
      name_changes_.push_back(NameChange{.dir = ParentPath(to), .path = from, .to = to});
      Apply(name_changes_.back(), &names_);
    } else {
      ChangeName(to, inode);
      ChangeName(from, nullptr);
    }
  }
  return End(verdict);
}

Status SimFileSystem::Link(const std::string& from, const std::string& to) {
  RunHook(SimOperation::kLink, from);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  const auto it = names_.find(from);
  if (it == names_.end()) return NotFound("link {}: no such file", from);
  if (it->second->is_directory) return FailedPrecondition("link {}: it is a folder", from);
  if (Find(to) != nullptr) return AlreadyExists("link {}: {} exists", from, to);
  SLUICE_RETURN_IF_ERROR(CheckParent(to));
  const std::shared_ptr<Inode> inode = it->second;
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kLink));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) ChangeName(to, inode);
  return End(verdict);
}

Status SimFileSystem::SyncDirectory(const std::string& dir) {
  RunHook(SimOperation::kSyncDirectory, dir);
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  SLUICE_RETURN_IF_ERROR(CheckParent(JoinPath(dir, "x")));
  SLUICE_ASSIGN_OR_RETURN(const Verdict verdict, Begin(SimOperation::kSyncDirectory));
  if (verdict == Verdict::kGo || verdict == Verdict::kStopAfter) {
    std::vector<NameChange> others;
    for (NameChange& change : name_changes_) {
      if (change.dir == dir) {
        Apply(change, &names_durable_);
      } else {
        others.push_back(std::move(change));
      }
    }
    name_changes_ = std::move(others);
  }
  return End(verdict);
}

StatusOr<std::unique_ptr<FileLock>> SimFileSystem::Lock(const std::string& path) {
  SLUICE_RETURN_IF_ERROR(Open(path, OpenMode::kCreate).status());
  const std::lock_guard lock(mutex_);
  if (!locks_.insert(path).second) {
    return FailedPrecondition("{} is locked: another process, or this one, uses the folder", path);
  }
  return std::make_unique<LockHandle>(this, path);
}

StatusOr<std::uint64_t> SimFileSystem::FreeBytes(const std::string& dir) const {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(CheckAlive(generation_));
  SLUICE_RETURN_IF_ERROR(CheckParent(JoinPath(dir, "x")));
  constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;
  if (!capacity_.has_value()) return kPlenty;
  const std::uint64_t used = UsedBytes();
  return *capacity_ > used ? *capacity_ - used : 0;
}

// --- the end of a process ---

void SimFileSystem::EndProcess() {
  ++generation_;
  locks_.clear();
  is_stopped_ = false;
  stop_at_.reset();
  failures_.clear();
}

void SimFileSystem::Kill() {
  const std::lock_guard lock(mutex_);
  EndProcess();
}

void SimFileSystem::SettleNames() {
  enum Shape : std::uint8_t { kNothing, kEverything, kPrefix, kSubset, kShapes };
  const std::uint64_t shape = Random(kShapes);
  const std::uint64_t prefix = Random(name_changes_.size() + 1);
  for (std::uint64_t i = 0; i < name_changes_.size(); ++i) {
    const bool is_kept = shape == kEverything || (shape == kPrefix && i < prefix) ||
                         (shape == kSubset && Random(2) == 0);
    if (is_kept) Apply(name_changes_[i], &names_durable_);
  }
  name_changes_.clear();
  // What lies in a folder that was lost is lost too. The order of the map visits
  // a folder before its content.
  for (auto it = names_durable_.begin(); it != names_durable_.end();) {
    const std::string parent = ParentPath(it->first);
    const bool is_lost = parent != "." && parent != "/" && !names_durable_.contains(parent);
    it = is_lost ? names_durable_.erase(it) : std::next(it);
  }
  names_ = names_durable_;
}

void SimFileSystem::Crash() {
  const std::lock_guard lock(mutex_);
  EndProcess();
  SettleNames();
  std::set<Inode*> settled;
  for (const auto& [path, inode] : names_) {
    if (!settled.insert(inode.get()).second) continue;
    Settle(*inode);
    inode->changes.clear();
    inode->content = inode->durable;
  }
}

}  // namespace sluice::env
