// SPDX-License-Identifier: Apache-2.0
#include "runner/record_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sluice::runner {
namespace {

class RecordSourceTest : public testing::Test {
 protected:
  RecordSourceTest() : dir_(testing::TempDir() + "/source_test_" + std::to_string(getpid())) {
    std::filesystem::create_directory(dir_);
  }
  ~RecordSourceTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& name, const std::string& content) {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << content;
    return dir_ + "/" + name;
  }

  static std::vector<std::string> Rest(RecordSource& source) {
    std::vector<std::string> texts;
    Record record;
    while (*source.Next(absl::Seconds(5), &record) == RecordSource::Outcome::kRecord) {
      texts.push_back(record.text);
    }
    return texts;
  }

  std::string dir_;
};

TEST_F(RecordSourceTest, LinesComeInTheOrderOfTheSources) {
  auto source = *RecordSource::Make({File("a", "1\n2\r\n"), File("b", "\n3\n \n4")});
  EXPECT_THAT(Rest(*source), testing::ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(source->blank_lines(), 2);
}

TEST_F(RecordSourceTest, EveryPositionCanBeGoneBackTo) {
  const std::vector<std::string> names = {File("a", "one\n\ntwo\n"), File("b", "three\nfour")};
  auto source = *RecordSource::Make(names);
  std::vector<std::string> texts;
  std::vector<SourcePosition> after;
  Record record;
  while (*source->Next(absl::Seconds(5), &record) == RecordSource::Outcome::kRecord) {
    texts.push_back(record.text);
    after.push_back(source->position());
  }
  ASSERT_EQ(texts.size(), 4);
  for (std::size_t i = 0; i < after.size(); ++i) {
    auto again = *RecordSource::Make(names);
    ASSERT_TRUE(again->Seek(after[i]).ok());
    EXPECT_EQ(Rest(*again),
              std::vector<std::string>(texts.begin() + static_cast<long>(i) + 1, texts.end()));
  }
}

TEST_F(RecordSourceTest, AFileThatGrewIsReadOnFromItsEnd) {
  const std::string path = File("a", "1\n");
  auto source = *RecordSource::Make({path});
  EXPECT_THAT(Rest(*source), testing::ElementsAre("1"));
  std::ofstream(path, std::ios::app) << "2\n";
  auto later = *RecordSource::Make({path});
  ASSERT_TRUE(later->Seek(source->position()).ok());
  EXPECT_THAT(Rest(*later), testing::ElementsAre("2"));
}

TEST_F(RecordSourceTest, AFileShorterThanWhatWasTakenIsRefused) {
  auto source = *RecordSource::Make({File("a", "1\n")});
  const Status status = source->Seek({.source = 0, .offset = 100, .line = 9});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(RecordSourceTest, APipeIsEnteredByReadingWhatWasTaken) {
  const std::string path = dir_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int writer = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(write(writer, "1\n2\n3", 5), 5);
  auto source = *RecordSource::Make({path});
  ASSERT_TRUE(source->Seek({.source = 0, .offset = 2, .line = 1}).ok());
  Record record;
  EXPECT_EQ(*source->Next(absl::Seconds(5), &record), RecordSource::Outcome::kRecord);
  EXPECT_EQ(record.text, "2");
  EXPECT_EQ(*source->Next(absl::ZeroDuration(), &record), RecordSource::Outcome::kNotYet)
      << "3 has no line break yet, and the pipe is open";
  close(writer);
  EXPECT_EQ(*source->Next(absl::Seconds(5), &record), RecordSource::Outcome::kRecord);
  EXPECT_EQ(record.text, "3");
}

TEST_F(RecordSourceTest, AnOverlongLineIsOneRecordThatSaysSo) {
  auto source =
      *RecordSource::Make({File("a", std::string(kRecordBytesMax * 2 + 7, 'x') + "\nok\n")});
  Record record;
  ASSERT_EQ(*source->Next(absl::Seconds(5), &record), RecordSource::Outcome::kRecord);
  EXPECT_TRUE(record.is_too_long);
  EXPECT_LT(record.text.size(), 1000);
  EXPECT_EQ(source->position().offset, kRecordBytesMax * 2 + 8);
  ASSERT_EQ(*source->Next(absl::Seconds(5), &record), RecordSource::Outcome::kRecord);
  EXPECT_EQ(record.text, "ok");
  EXPECT_FALSE(record.is_too_long);
}

TEST_F(RecordSourceTest, WhatCannotBeReadIsRefusedByName) {
  EXPECT_TRUE(absl::IsUnimplemented(RecordSource::Make({"pubsub:s"}).status()));
  EXPECT_TRUE(absl::IsUnimplemented(RecordSource::Make({"kafka:t"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(RecordSource::Make({"-", "-"}).status()));
  auto missing = *RecordSource::Make({dir_ + "/none"});
  Record record;
  EXPECT_TRUE(absl::IsNotFound(missing->Next(absl::ZeroDuration(), &record).status()));
  auto folder = *RecordSource::Make({dir_});
  EXPECT_TRUE(absl::IsFailedPrecondition(folder->Next(absl::ZeroDuration(), &record).status()));
}

}  // namespace
}  // namespace sluice::runner
