// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the log's tests share: small segments, opening with everything collected,
// and copies of a log's files. Not part of the product.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/sim/file_system.h"
#include "log/log.h"

namespace sluice::log {

inline constexpr char kDir[] = "log";
inline constexpr std::uint64_t kLogId = 0xC0FFEE;

/// Segments of two pages: one of header, one for frames.
inline Options SmallOptions() {
  return Options{.segment_bytes_first = 8192,
                 .segment_bytes = 8192,
                 .frame_bytes_max = 64u << 10,
                 .reserve_segments = 1,
                 .new_log_id = kLogId};
}

struct Replayed {
  Position position = kBeginning;
  std::string payload;
  friend bool operator==(const Replayed&, const Replayed&) = default;
};

inline void PrintTo(const Replayed& frame, std::ostream* out) {
  *out << frame.position << ":" << frame.payload.substr(0, 20) << "(" << frame.payload.size()
       << ")";
}

struct Opened {
  Status status;
  std::unique_ptr<Log> log;
  std::vector<Replayed> replayed;
  RecoveryReport report;
};

inline Opened OpenLog(env::FileSystem& fs, Position applied, const Options& options,
                      const std::string& dir = kDir) {
  Opened opened;
  const auto replay = [&](Position position, std::string_view payload) {
    opened.replayed.push_back(Replayed{position, std::string(payload)});
    return absl::OkStatus();
  };
  StatusOr<std::unique_ptr<Log>> log = Log::Open(fs, dir, options, applied, replay, &opened.report);
  opened.status = log.status();
  if (log.ok()) opened.log = *std::move(log);
  return opened;
}

/// A model disk with the log's folder, durable.
inline std::unique_ptr<env::SimFileSystem> MakeDisk(std::uint64_t seed) {
  auto fs = std::make_unique<env::SimFileSystem>(seed);
  EXPECT_TRUE(fs->CreateDirectory(kDir).ok());
  EXPECT_TRUE(fs->SyncDirectory(".").ok());
  return fs;
}

inline Replayed MustAppend(Log& log, const std::string& payload) {
  const StatusOr<Position> position = log.Append(payload);
  EXPECT_TRUE(position.ok()) << position.status();
  const Status synced = log.Sync();
  EXPECT_TRUE(synced.ok()) << synced;
  return Replayed{position.value_or(kBeginning), payload};
}

/// The files of a folder by name, and a new disk with exactly these, durable.
using Files = std::map<std::string, std::string>;

inline Files ReadFiles(env::FileSystem& fs, const std::string& dir = kDir) {
  constexpr std::uint64_t kBytesMax = 1u << 30;
  Files files;
  const StatusOr<std::vector<std::string>> names = fs.List(dir);
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return files;
  for (const std::string& name : *names) {
    StatusOr<std::string> content = env::ReadFile(fs, env::JoinPath(dir, name), kBytesMax);
    EXPECT_TRUE(content.ok()) << content.status();
    if (content.ok()) files[name] = *std::move(content);
  }
  return files;
}

inline std::unique_ptr<env::SimFileSystem> DiskWith(const Files& files) {
  std::unique_ptr<env::SimFileSystem> fs = MakeDisk(1);
  for (const auto& [name, content] : files) {
    auto file = fs->Open(env::JoinPath(kDir, name), env::OpenMode::kCreateNew);
    EXPECT_TRUE(file.ok() && (*file)->WriteAt(0, content).ok() && (*file)->SyncData().ok());
  }
  EXPECT_TRUE(fs->SyncDirectory(kDir).ok());
  return fs;
}

}  // namespace sluice::log
