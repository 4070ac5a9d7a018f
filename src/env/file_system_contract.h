// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every FileSystem must do, run against each implementation. Durability
// itself can only be tested on the model disk (sim/file_system_test.cc).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "env/file_system.h"

namespace sluice::env {

/// A file system and an empty folder in it.
struct FileSystemUnderTest {
  std::unique_ptr<FileSystem> fs;
  std::string root;
  std::shared_ptr<void> cleanup;  // removes what is left in the real world
};

struct FileSystemMaker {
  std::string name;
  std::function<FileSystemUnderTest()> make;
};

class FileSystemContract : public testing::TestWithParam<FileSystemMaker> {
 protected:
  FileSystemContract() : world_(GetParam().make()), fs_(*world_.fs) {}

  std::string Path(std::string_view name) const { return JoinPath(world_.root, name); }
  std::unique_ptr<File> MustOpen(const std::string& path, OpenMode mode) {
    StatusOr<std::unique_ptr<File>> file = fs_.Open(path, mode);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::string Content(const std::string& path) {
    constexpr std::uint64_t kSmall = 1 << 20;
    const StatusOr<std::string> content = ReadFile(fs_, path, kSmall);
    return content.ok() ? *content : std::string(Message(content.status()));
  }

  FileSystemUnderTest world_;
  FileSystem& fs_;
};

TEST_P(FileSystemContract, ReadsBackWhatWasWrittenAndZerosInTheHole) {
  const std::unique_ptr<File> file = MustOpen(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file->WriteAt(3, "xyz").ok());
  ASSERT_TRUE(file->WriteAt(4, "Y").ok());
  ASSERT_TRUE(file->SyncData().ok());
  EXPECT_EQ(*file->Size(), 6u);
  char buffer[10];
  ASSERT_EQ(*file->ReadAt(0, sizeof buffer, buffer), 6u);
  EXPECT_EQ(std::string_view(buffer, 6), std::string_view("\0\0\0xYz", 6));
  EXPECT_EQ(*file->ReadAt(6, 1, buffer), 0u);
  EXPECT_EQ(*file->ReadAt(100, 1, buffer), 0u);
}

TEST_P(FileSystemContract, ZeroingOverwritesAndGrows) {
  constexpr std::uint64_t kOddSize = (3u << 20) + 17;
  const std::unique_ptr<File> file = MustOpen(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file->WriteAt(0, "abcdef").ok());
  ASSERT_TRUE(file->ZeroAt(2, kOddSize).ok());
  EXPECT_EQ(*file->Size(), kOddSize + 2);
  std::string content(kOddSize + 2, 'x');
  ASSERT_EQ(*file->ReadAt(0, content.size(), content.data()), content.size());
  EXPECT_EQ(content, "ab" + std::string(kOddSize, '\0'));
}

TEST_P(FileSystemContract, TruncateShrinksAndGrowsWithZeros) {
  const std::unique_ptr<File> file = MustOpen(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(file->WriteAt(0, "abcdef").ok());
  ASSERT_TRUE(file->Truncate(2).ok());
  ASSERT_TRUE(file->Truncate(4).ok());
  EXPECT_EQ(Content(Path("a")), std::string("ab\0\0", 4));
}

TEST_P(FileSystemContract, OpenModesSayWhetherTheFileMustExist) {
  EXPECT_EQ(fs_.Open(Path("a"), OpenMode::kRead).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs_.Open(Path("a"), OpenMode::kReadWrite).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(MustOpen(Path("a"), OpenMode::kCreate)->WriteAt(0, "kept").ok());
  EXPECT_EQ(fs_.Open(Path("a"), OpenMode::kCreateNew).status().code(),
            absl::StatusCode::kAlreadyExists);
  MustOpen(Path("a"), OpenMode::kCreate);
  EXPECT_EQ(Content(Path("a")), "kept");
  EXPECT_FALSE(MustOpen(Path("a"), OpenMode::kRead)->WriteAt(0, "x").ok());
  EXPECT_EQ(fs_.Open(Path("no/a"), OpenMode::kCreate).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(FileSystemContract, ListIsSortedAndShowsOneLevel) {
  ASSERT_TRUE(fs_.CreateDirectory(Path("dir")).ok());
  ASSERT_TRUE(fs_.CreateDirectory(Path("dir")).ok());
  MustOpen(Path("dir/inner"), OpenMode::kCreate);
  MustOpen(Path("b"), OpenMode::kCreate);
  MustOpen(Path("a"), OpenMode::kCreate);
  EXPECT_THAT(*fs_.List(world_.root), testing::ElementsAre("a", "b", "dir"));
  EXPECT_THAT(*fs_.List(Path("dir")), testing::ElementsAre("inner"));
  EXPECT_EQ(fs_.List(Path("absent")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(fs_.Stat(Path("dir"))->is_directory);
  EXPECT_FALSE(fs_.Stat(Path("a"))->is_directory);
}

TEST_P(FileSystemContract, RemovedFilesAreGoneButOpenHandlesWork) {
  const std::unique_ptr<File> file = MustOpen(Path("a"), OpenMode::kCreateNew);
  ASSERT_TRUE(fs_.Remove(Path("a")).ok());
  EXPECT_TRUE(file->WriteAt(0, "still").ok());
  EXPECT_EQ(fs_.Stat(Path("a")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fs_.Remove(Path("a")).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(fs_.CreateDirectory(Path("dir")).ok());
  MustOpen(Path("dir/inner"), OpenMode::kCreate);
  EXPECT_EQ(fs_.Remove(Path("dir")).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(fs_.Remove(Path("dir/inner")).ok());
  EXPECT_TRUE(fs_.Remove(Path("dir")).ok());
}

TEST_P(FileSystemContract, RenameReplacesAndLinkDoesNot) {
  ASSERT_TRUE(MustOpen(Path("a"), OpenMode::kCreate)->WriteAt(0, "A").ok());
  ASSERT_TRUE(MustOpen(Path("b"), OpenMode::kCreate)->WriteAt(0, "B").ok());
  EXPECT_EQ(fs_.Link(Path("a"), Path("b")).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(fs_.Rename(Path("a"), Path("b")).ok());
  EXPECT_EQ(Content(Path("b")), "A");
  EXPECT_EQ(fs_.Rename(Path("a"), Path("c")).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(fs_.Link(Path("b"), Path("c")).ok());
  ASSERT_TRUE(MustOpen(Path("c"), OpenMode::kReadWrite)->WriteAt(1, "2").ok());
  EXPECT_EQ(Content(Path("b")), "A2");
  ASSERT_TRUE(fs_.Remove(Path("b")).ok());
  EXPECT_EQ(Content(Path("c")), "A2");
}

TEST_P(FileSystemContract, LockIsExclusiveUntilReleased) {
  StatusOr<std::unique_ptr<FileLock>> first = fs_.Lock(Path("LOCK"));
  ASSERT_TRUE(first.ok()) << first.status();
  const Status second = fs_.Lock(Path("LOCK")).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(second)), testing::HasSubstr(Path("LOCK")));
  first->reset();
  EXPECT_TRUE(fs_.Lock(Path("LOCK")).ok());
}

TEST_P(FileSystemContract, WriteFileAtomicallyReplacesWholeContent) {
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("m"), "long content").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, Path("m"), "short").ok());
  EXPECT_EQ(Content(Path("m")), "short");
  EXPECT_THAT(*fs_.List(world_.root), testing::ElementsAre("m"));
  constexpr std::uint64_t kTooSmall = 4;
  EXPECT_EQ(ReadFile(fs_, Path("m"), kTooSmall).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_P(FileSystemContract, FreeBytesAndDirectorySyncAnswerForExistingFolders) {
  EXPECT_GT(*fs_.FreeBytes(world_.root), 0u);
  EXPECT_TRUE(fs_.SyncDirectory(world_.root).ok());
  EXPECT_FALSE(fs_.SyncDirectory(Path("absent")).ok());
  EXPECT_FALSE(fs_.FreeBytes(Path("absent")).ok());
}

}  // namespace sluice::env
