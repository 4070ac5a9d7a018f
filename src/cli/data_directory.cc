// SPDX-License-Identifier: Apache-2.0
#include "cli/data_directory.h"

#include "engine/backup.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kLockName = "LOCK";
constexpr std::string_view kSigningKeysName = "signing-keys.json";

/// Makes the folder and those above it, each durable in its parent.
Status CreateDurably(env::FileSystem& files, const std::string& path) {
  if (const auto stat = files.Stat(path); stat.ok()) {
    if (stat->is_directory) return {};
    return FailedPrecondition("{} is a file, not a folder", path);
  }
  const std::string parent = env::ParentPath(path);
  if (parent != path && parent != "." && parent != "/") {
    SLUICE_RETURN_IF_ERROR(CreateDurably(files, parent));
  }
  SLUICE_RETURN_IF_ERROR(files.CreateDirectory(path));
  return files.SyncDirectory(parent);
}

Failure CannotUse(const std::string& path, const Status& status, ExitCode code) {
  return {code, fmt::format("data directory {}: {}", path, Message(status))};
}

}  // namespace

std::variant<DataDirectory, Failure> DataDirectory::Open(env::FileSystem& files,
                                                         const std::string& path) {
  if (const Status status = CreateDurably(files, path); !status.ok()) {
    return CannotUse(path, status, ExitCode::kFailure);
  }
  StatusOr<std::unique_ptr<env::FileLock>> lock = files.Lock(env::JoinPath(path, kLockName));
  if (absl::IsFailedPrecondition(lock.status())) {
    return Failure{ExitCode::kDataInUse,
                   fmt::format("data directory {} is in use: another sluice process holds {}; "
                               "stop it, or choose another folder with --data-dir",
                               path, env::JoinPath(path, kLockName))};
  }
  if (!lock.ok()) return CannotUse(path, lock.status(), ExitCode::kFailure);
  if (const Status status = engine::CheckBackupComplete(files, path); !status.ok()) {
    return CannotUse(path, status, ExitCode::kDataDamaged);
  }
  DataDirectory directory(path, *std::move(lock));
  if (const Status status = CreateDurably(files, directory.log_dir()); !status.ok()) {
    return CannotUse(path, status, ExitCode::kFailure);
  }
  return directory;
}

std::string DataDirectory::log_dir() const { return env::JoinPath(path_, engine::kLogDirName); }
std::string DataDirectory::signing_keys_path() const {
  return env::JoinPath(path_, kSigningKeysName);
}
std::string DataDirectory::store_dir() const { return env::JoinPath(path_, engine::kStoreDirName); }

}  // namespace sluice::cli
