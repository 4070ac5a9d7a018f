// SPDX-License-Identifier: Apache-2.0
// Runs the file system contract on the real disk and on the model disk.
#include <filesystem>
#include <memory>
#include <string>

#include "env/file_system_contract.h"
#include "env/posix/file_system.h"
#include "env/sim/file_system.h"

namespace sluice::env {
namespace {

FileSystemUnderTest MakePosix() {
  std::string root = (std::filesystem::temp_directory_path() / "sluice-fs-XXXXXX").string();
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
  auto remove = [](std::string* path) {
    std::filesystem::remove_all(*path);
    delete path;
  };
  return {.fs = std::make_unique<PosixFileSystem>(),
          .root = root,
          .cleanup = std::shared_ptr<std::string>(new std::string(root), remove)};
}

FileSystemUnderTest MakeSim() {
  auto fs = std::make_unique<SimFileSystem>(1);
  EXPECT_TRUE(fs->CreateDirectory("data").ok());
  return {.fs = std::move(fs), .root = "data"};
}

INSTANTIATE_TEST_SUITE_P(Each, FileSystemContract,
                         testing::Values(FileSystemMaker{"Posix", MakePosix},
                                         FileSystemMaker{"Sim", MakeSim}),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace sluice::env
