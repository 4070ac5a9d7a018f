// SPDX-License-Identifier: Apache-2.0
#pragma once

// A consistent copy of a running server's data (design, section 4 rule 8): the
// store's checkpoint and the log from before it, in a new folder with the
// layout of a data directory. Restoring is a normal start on that folder.
//
// The manifest is written last: a folder without it is not a backup.

#include <string>

#include "base/status.h"
#include "log/log.h"
#include "store/store.h"

namespace sluice::env {
class FileSystem;
}  // namespace sluice::env

namespace sluice::engine {

/// Names inside a data directory, and so inside a backup.
inline constexpr char kLogDirName[] = "log";
inline constexpr char kStoreDirName[] = "store";
inline constexpr char kBackupManifestName[] = "BACKUP-COMPLETE";

/// Errors: ALREADY_EXISTS when `dir` exists; UNIMPLEMENTED for a store without
/// files; those of the disk.
Status WriteBackup(env::FileSystem& files, const std::string& log_dir, log::Log& log,
                   store::Store& store, const std::string& dir);

/// Errors: FAILED_PRECONDITION when `dir` is a backup that was cut short.
Status CheckBackupComplete(env::FileSystem& files, const std::string& dir);

}  // namespace sluice::engine
