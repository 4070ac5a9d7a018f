// SPDX-License-Identifier: Apache-2.0
#include "cli/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backup.h"
#include "env/sim/file_system.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

TEST(DataDirectory, FoldersAreMadeWithTheirParents) {
  env::SimFileSystem files(1);
  const auto opened = DataDirectory::Open(files, "a/b/data");
  ASSERT_TRUE(std::holds_alternative<DataDirectory>(opened));
  EXPECT_TRUE(files.Stat("a/b/data/log")->is_directory);
  EXPECT_EQ(std::get<DataDirectory>(opened).store_dir(), "a/b/data/store");
}

TEST(DataDirectory, ASecondUseIsRefusedWhileTheFirstLasts) {
  env::SimFileSystem files(1);
  {
    const auto first = DataDirectory::Open(files, "data");
    const auto second = DataDirectory::Open(files, "data");
    ASSERT_TRUE(std::holds_alternative<Failure>(second));
    EXPECT_EQ(std::get<Failure>(second).code, ExitCode::kDataInUse);
    EXPECT_THAT(std::get<Failure>(second).message, HasSubstr("data directory data is in use"));
  }
  EXPECT_TRUE(std::holds_alternative<DataDirectory>(DataDirectory::Open(files, "data")));
}

TEST(DataDirectory, AFileInThePlaceOfTheFolderIsAnError) {
  env::SimFileSystem files(1);
  ASSERT_TRUE(files.Open("data", env::OpenMode::kCreateNew).ok());
  const auto opened = DataDirectory::Open(files, "data");
  ASSERT_TRUE(std::holds_alternative<Failure>(opened));
  EXPECT_EQ(std::get<Failure>(opened).code, ExitCode::kFailure);
  EXPECT_THAT(std::get<Failure>(opened).message, HasSubstr("is a file"));
}

TEST(DataDirectory, TheFolderIsDurableBeforeAnythingIsWrittenToIt) {
  env::SimFileSystem files(1);
  ASSERT_TRUE(std::holds_alternative<DataDirectory>(DataDirectory::Open(files, "a/data")));
  files.Crash();
  EXPECT_TRUE(files.Stat("a/data/log").ok());
}

}  // namespace
}  // namespace sluice::cli
