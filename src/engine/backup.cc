// SPDX-License-Identifier: Apache-2.0
#include "engine/backup.h"

#include <algorithm>
#include <memory>

#include "env/file_system.h"

namespace sluice::engine {
namespace {

constexpr std::uint64_t kCopyChunkBytes = 1u << 20;
// Present from the first step to the last of a backup.
constexpr char kBackupStartedName[] = "BACKUP-STARTED";

Status CopyPrefix(env::FileSystem& files, const std::string& from, const std::string& to,
                  std::uint64_t bytes) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<env::File> in,
                          files.Open(from, env::OpenMode::kRead));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<env::File> out,
                          files.Open(to, env::OpenMode::kCreateNew));
  std::string chunk(kCopyChunkBytes, '\0');
  for (std::uint64_t offset = 0; offset < bytes;) {
    SLUICE_ASSIGN_OR_RETURN(
        const std::uint64_t got,
        in->ReadAt(offset, std::min<std::uint64_t>(kCopyChunkBytes, bytes - offset), chunk.data()));
    if (got == 0) return DataLoss("{} ends at byte {}, before byte {}", from, offset, bytes);
    SLUICE_RETURN_IF_ERROR(out->WriteAt(offset, std::string_view(chunk).substr(0, got)));
    offset += got;
  }
  return out->SyncData();
}

Status WriteMarker(env::FileSystem& files, const std::string& path, std::string_view content) {
  return env::WriteFileAtomically(files, path, content);
}

}  // namespace

Status WriteBackup(env::FileSystem& files, const std::string& log_dir, log::Log& log,
                   store::Store& store, const std::string& dir) {
  if (files.Stat(dir).ok()) {
    return AlreadyExists("backup folder {} exists; name a new one", dir);
  }
  // Pinned first: whatever the checkpoint lacks is in segments that stay.
  const std::unique_ptr<log::Log::Pin> before = log.PinSegments();
  const std::string log_copy = env::JoinPath(dir, kLogDirName);
  SLUICE_RETURN_IF_ERROR(files.CreateDirectory(dir));
  SLUICE_RETURN_IF_ERROR(WriteMarker(files, env::JoinPath(dir, kBackupStartedName), "1\n"));
  SLUICE_RETURN_IF_ERROR(files.CreateDirectory(log_copy));
  SLUICE_RETURN_IF_ERROR(store.Checkpoint(env::JoinPath(dir, kStoreDirName)));
  // Pinned again: the checkpoint may hold frames of segments begun since.
  const std::unique_ptr<log::Log::Pin> after = log.PinSegments();
  for (const log::Log::PinnedFile& file : after->files()) {
    const std::string from = env::JoinPath(log_dir, file.name);
    const std::string to = env::JoinPath(log_copy, file.name);
    // A file that is still written to must not be shared with the copy.
    if (file.is_complete && files.Link(from, to).ok()) continue;
    SLUICE_RETURN_IF_ERROR(CopyPrefix(files, from, to, file.synced_bytes));
  }
  SLUICE_RETURN_IF_ERROR(files.SyncDirectory(log_copy));
  SLUICE_RETURN_IF_ERROR(files.SyncDirectory(dir));
  SLUICE_RETURN_IF_ERROR(WriteMarker(files, env::JoinPath(dir, kBackupManifestName), "1\n"));
  SLUICE_RETURN_IF_ERROR(files.Remove(env::JoinPath(dir, kBackupStartedName)));
  return files.SyncDirectory(dir);
}

Status CheckBackupComplete(env::FileSystem& files, const std::string& dir) {
  const bool is_started = files.Stat(env::JoinPath(dir, kBackupStartedName)).ok();
  const bool is_complete = files.Stat(env::JoinPath(dir, kBackupManifestName)).ok();
  if (!is_started || is_complete) return absl::OkStatus();
  return FailedPrecondition(
      "{} is a backup that was cut short ({} is missing); take another backup or use an older one",
      dir, kBackupManifestName);
}

}  // namespace sluice::engine
