// SPDX-License-Identifier: Apache-2.0
#pragma once

// The folder a server keeps its data in: made when missing, and held by a lock
// as long as this object lives, so that two servers never write to one.
//   LOCK     the lock; stays when the server has ended
//   log/     the log (src/log)
//   store/   RocksDB (src/store)
//   signing-keys.json  the keys of tokens (src/dispatch/tokens), once one was needed
//
// Threading: one thread. Failure: see Open.

#include <memory>
#include <string>
#include <variant>

#include "cli/exit_code.h"
#include "env/file_system.h"

namespace sluice::cli {

class DataDirectory {
 public:
  /// Failures: kDataInUse when another process holds it; kDataDamaged for a
  /// backup that was cut short; kFailure for what the disk refuses.
  static std::variant<DataDirectory, Failure> Open(env::FileSystem& files, const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string log_dir() const;
  [[nodiscard]] std::string store_dir() const;
  [[nodiscard]] std::string signing_keys_path() const;

 private:
  DataDirectory(std::string path, std::unique_ptr<env::FileLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  std::unique_ptr<env::FileLock> lock_;
};

}  // namespace sluice::cli
