// SPDX-License-Identifier: Apache-2.0
#include "runner/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "env/sim/file_system.h"

namespace sluice::runner {
namespace {

Checkpoint Number(std::uint64_t id) {
  return {.id = id,
          .job = "a job",
          .source = {.source = 1, .offset = id * 100, .line = id},
          .state = std::string("state\0bytes", 11)};
}

class CheckpointStoreTest : public testing::Test {
 protected:
  void Overwrite(std::uint64_t id, const std::string& bytes) {
    ASSERT_TRUE(
        env::WriteFileAtomically(files_, fmt::format("/c/checkpoint-{:020}", id), bytes).ok());
  }
  Status LatestStatus() { return CheckpointStore::Open(files_, "/c")->Latest().status(); }

  env::SimFileSystem files_{1};
};

TEST_F(CheckpointStoreTest, TheNewestIsFoundAndTwoAreKept) {
  auto store = CheckpointStore::Open(files_, "/c");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*store->Latest(), std::nullopt);
  for (std::uint64_t id = 1; id <= 12; ++id) ASSERT_TRUE(store->Save(Number(id)).ok());
  EXPECT_EQ(*store->Latest(), Number(12));
  EXPECT_EQ(files_.List("/c")->size(), 3) << "two checkpoints and the lock";
}

TEST_F(CheckpointStoreTest, ADirectoryInUseIsRefused) {
  const auto store = CheckpointStore::Open(files_, "/c");
  const Status second = CheckpointStore::Open(files_, "/c").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(Message(second)), testing::HasSubstr("/c is in use"));
}

TEST_F(CheckpointStoreTest, NoDamagedByteGoesUnnoticed) {
  const std::string good = EncodeCheckpoint(Number(7));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_FALSE(DecodeCheckpoint(bad).ok()) << "byte " << i;
    EXPECT_FALSE(DecodeCheckpoint(good.substr(0, i)).ok()) << "first " << i << " bytes";
  }
  EXPECT_EQ(*DecodeCheckpoint(good), Number(7));
}

TEST_F(CheckpointStoreTest, ADamagedNewestIsNotPassedOverForTheOlder) {
  {
    auto store = CheckpointStore::Open(files_, "/c");
    ASSERT_TRUE(store->Save(Number(1)).ok());
    ASSERT_TRUE(store->Save(Number(2)).ok());
  }
  Overwrite(2, EncodeCheckpoint(Number(2)).substr(0, 30));
  EXPECT_TRUE(absl::IsDataLoss(LatestStatus()));
  EXPECT_THAT(std::string(Message(LatestStatus())),
              testing::HasSubstr("checkpoint-00000000000000000002"));
  Overwrite(2, EncodeCheckpoint(Number(1)));
  EXPECT_TRUE(absl::IsDataLoss(LatestStatus())) << "the content is another's";
}

TEST_F(CheckpointStoreTest, ANewerFormatIsRefusedWithBothVersions) {
  ASSERT_TRUE(CheckpointStore::Open(files_, "/c")->Save(Number(1)).ok());
  std::string newer = EncodeCheckpoint(Number(1));
  newer[8] = 9;
  Overwrite(1, newer);
  const Status status = LatestStatus();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(std::string(Message(status)), testing::HasSubstr("version 9"));
}

}  // namespace
}  // namespace sluice::runner
