// SPDX-License-Identifier: Apache-2.0
#pragma once

// A disk in memory that remembers what was made durable, for tests and the
// simulator. One seed decides everything it does by chance.
//
// The fault model, which is also the promise the log relies on:
//   - A sector (512 bytes) is written whole or not at all; of the writes not yet
//     synced each sector keeps, after a power cut, any prefix of its own.
//   - An unsynced file size may be any the file had since its last sync.
//   - Unsynced changes of names survive in any subset; a rename inside one folder
//     is one change. A file whose name is lost is gone, synced or not.
//   - After a failed sync some sectors are on disk, the others never will be
//     unless they are written again, though reads still show them.
//   - A killed process (`Kill`) loses nothing that was written.
//
// Threading: any thread, under one lock. Handles from before a crash fail with
// UNAVAILABLE for ever, as those of a dead process would never be used.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "env/file_system.h"

namespace sluice::env {

inline constexpr std::uint64_t kSimSectorBytes = 512;

/// The operations that change the disk; faults and stops count these.
enum class SimOperation : std::uint8_t {
  kCreate,
  kWrite,
  kZero,
  kTruncate,
  kSyncData,
  kCreateDirectory,
  kRemove,
  kRename,
  kLink,
  kSyncDirectory,
};

class SimFileSystem : public FileSystem {
 public:
  explicit SimFileSystem(std::uint64_t seed);
  ~SimFileSystem() override;

  StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override;
  StatusOr<FileStat> Stat(const std::string& path) const override;
  StatusOr<std::vector<std::string>> List(const std::string& dir) const override;
  Status CreateDirectory(const std::string& dir) override;
  Status Remove(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Link(const std::string& from, const std::string& to) override;
  Status SyncDirectory(const std::string& dir) override;
  StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  StatusOr<std::uint64_t> FreeBytes(const std::string& dir) const override;

  /// Power cut: what was not synced is lost, kept or torn as the seed decides.
  /// Ends a stop. Faults that have not fired are forgotten.
  void Crash();
  /// SIGKILL: handles and locks are gone, everything written stays readable, and
  /// what was not synced is still not durable.
  void Kill();

  /// The `calls`-th operation of this kind from now (1 is the next) fails with
  /// INTERNAL; a failing write writes a part, a failing sync syncs some sectors.
  void FailAfter(SimOperation operation, std::uint64_t calls);
  /// The power goes at the `operations`-th operation from now: whether that one
  /// still happened is the seed's, and every later call fails until Crash or Kill.
  void StopAfter(std::uint64_t operations);
  [[nodiscard]] bool is_stopped() const;
  /// Operations so far, to choose a stop inside a known range.
  [[nodiscard]] std::uint64_t operations() const;
  /// Bytes all files together may have; nothing means no limit.
  void SetCapacity(std::optional<std::uint64_t> bytes);
  [[nodiscard]] std::uint64_t used_bytes() const;
  /// Called before each operation, outside the lock: a slow disk advances the
  /// virtual clock here.
  void SetHook(std::function<void(SimOperation, const std::string& path)> hook);
  /// Flips one bit, on disk and in every copy. Requires: the byte exists.
  void FlipBit(const std::string& path, std::uint64_t offset, int bit);

 private:
  struct Inode;
  class Handle;
  class LockHandle;

  /// A write (data), a zeroing (zeros) or a truncation (size only) not yet synced.
  struct Change {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string data;  // empty: zeros
    std::uint64_t size_after = 0;
    bool is_truncation = false;
  };
  /// A change of names not yet synced. `to` is set for a rename inside a folder.
  struct NameChange {
    std::string dir;
    std::string path;
    std::shared_ptr<Inode> inode;  // null: the name is removed
    std::string to;
  };
  enum class Verdict : std::uint8_t { kGo, kFail, kStopBefore, kStopAfter };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  // All below: mutex_ is held.
  StatusOr<Verdict> Begin(SimOperation operation);
  Status End(Verdict verdict) const;
  Status CheckAlive(std::uint64_t generation) const;
  Status CheckParent(const std::string& path) const;
  Inode* Find(const std::string& path) const;
  void ChangeName(const std::string& path, std::shared_ptr<Inode> inode);
  static void Apply(const NameChange& change, Names* names);
  static void Apply(const Change& change, std::string* content);
  Status Record(Inode& inode, Change change, Verdict verdict);
  void SyncSome(Inode& inode);
  void Settle(Inode& inode);
  void SettleNames();
  void EndProcess();
  std::uint64_t Random(std::uint64_t below);
  std::uint64_t UsedBytes() const;

  void RunHook(SimOperation operation, const std::string& path);

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  Names names_;
  Names names_durable_;
  std::vector<NameChange> name_changes_;
  std::set<std::string> locks_;
  std::uint64_t generation_ = 1;  // of the process that uses the disk
  std::uint64_t operations_ = 0;
  std::optional<std::uint64_t> stop_at_;
  bool is_stopped_ = false;
  std::map<SimOperation, std::uint64_t> failures_;
  std::optional<std::uint64_t> capacity_;
  std::function<void(SimOperation, const std::string&)> hook_;
};

}  // namespace sluice::env
