// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real file system (file_system.h says what each operation promises).
// Threading: any thread. Every descriptor is close-on-exec.

#include "env/file_system.h"

namespace sluice::env {

class PosixFileSystem : public FileSystem {
 public:
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
};

}  // namespace sluice::env
