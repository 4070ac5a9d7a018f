// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files as the log, the backup and the data directory's lock need them: few
// operations, each with a stated durability. Nothing here buffers, and nothing
// is durable before the call that says so:
//   - bytes and size of a file: `File::SyncData`;
//   - that a name exists, or no longer exists: `FileSystem::SyncDirectory`.
// PosixFileSystem is the real one, SimFileSystem the model disk of the tests;
// both pass file_system_contract.h. RocksDB brings its own and does not use this.
//
// Threading: a file system may be used from any thread; a file by one writer at
// a time, with reads beside it.
// Ownership: files and locks must not outlive their file system.
// Failure: RESOURCE_EXHAUSTED is a full disk; INTERNAL is the disk saying no.
// After a failed write or sync nothing is known about the bytes concerned, and a
// second sync that succeeds proves nothing (Linux marks the pages clean).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::env {

/// How `FileSystem::Open` treats the name.
enum class OpenMode : std::uint8_t {
  kRead,       // must exist
  kReadWrite,  // must exist
  kCreateNew,  // must not exist; readable and writable
  kCreate,     // made when absent, kept as it is when present
};

class File {
 public:
  virtual ~File() = default;

  /// Writes all of `data` at `offset`, growing the file when needed; a hole that
  /// this opens reads as zeros. Not durable. On an error a part may be written.
  virtual Status WriteAt(std::uint64_t offset, std::string_view data) = 0;

  /// Writes real zero bytes (not a hole), growing the file when needed, so that
  /// a later write to them needs no new block and cannot meet a full disk on file
  /// systems that overwrite in place. Not durable.
  virtual Status ZeroAt(std::uint64_t offset, std::uint64_t bytes) = 0;

  /// Reads up to `bytes` into `out`; fewer only at the end of the file.
  virtual StatusOr<std::uint64_t> ReadAt(std::uint64_t offset, std::uint64_t bytes,
                                         char* out) const = 0;

  /// Makes bytes and size durable. Says nothing of the file's name.
  virtual Status SyncData() = 0;

  virtual Status Truncate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual StatusOr<std::uint64_t> Size() const = 0;
};

/// An exclusive lock on a file, held until destroyed or until the process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FileStat {
  std::uint64_t bytes = 0;
  bool is_directory = false;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Errors: NOT_FOUND, ALREADY_EXISTS as the mode says, or the folder is missing.
  virtual StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;

  /// Errors: NOT_FOUND.
  virtual StatusOr<FileStat> Stat(const std::string& path) const = 0;

  /// The names in a folder, sorted, without "." and "..". Errors: NOT_FOUND.
  virtual StatusOr<std::vector<std::string>> List(const std::string& dir) const = 0;

  /// Idempotent: an existing folder is success. Parents must exist.
  virtual Status CreateDirectory(const std::string& dir) = 0;

  /// Removes a file or an empty folder. Open handles keep working.
  /// Errors: NOT_FOUND; FAILED_PRECONDITION for a folder that is not empty.
  virtual Status Remove(const std::string& path) = 0;

  /// Atomic; replaces `to`. Both sides need a SyncDirectory of their folder.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;

  /// A second name for the same bytes. Errors: NOT_FOUND, ALREADY_EXISTS;
  /// UNIMPLEMENTED across devices or where hard links do not exist.
  virtual Status Link(const std::string& from, const std::string& to) = 0;

  /// Makes the names in `dir` durable: created, renamed, linked and removed ones.
  virtual Status SyncDirectory(const std::string& dir) = 0;

  /// Takes the lock on `path`, creating the file when needed, without waiting.
  /// Errors: FAILED_PRECONDITION when someone holds it, this process included.
  virtual StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;

  /// Bytes an unprivileged writer can still allocate on the device of `dir`.
  virtual StatusOr<std::uint64_t> FreeBytes(const std::string& dir) const = 0;
};

/// `dir` and `name` with one separator between them.
[[nodiscard]] std::string JoinPath(std::string_view dir, std::string_view name);
/// The folder that holds `path`: "a/b" gives "a", "b" gives ".".
[[nodiscard]] std::string ParentPath(std::string_view path);

/// The whole content of a small file. Errors: NOT_FOUND; RESOURCE_EXHAUSTED
/// naming the size when it is larger than `bytes_max`.
StatusOr<std::string> ReadFile(FileSystem& fs, const std::string& path, std::uint64_t bytes_max);

/// Replaces the content of `path` so that after a crash it is the old one or the
/// new one, whole; durable on return. Uses the name `path` + ".new" on the way.
Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view content);

}  // namespace sluice::env
