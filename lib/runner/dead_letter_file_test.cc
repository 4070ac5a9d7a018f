// SPDX-License-Identifier: Apache-2.0
#include "runner/dead_letter_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "env/sim/file_system.h"

namespace sluice::runner {
namespace {

class DeadLetterFileTest : public testing::Test {
 protected:
  /// One life of a run: opens the file and offers one record.
  void OfferOne(const std::string& record) {
    const auto letters = MakeDeadLetterFile(files_, "/dead", [&record] { return record; });
    ASSERT_TRUE(letters->Open({}).ok());
    ASSERT_TRUE(letters->Offer({queue_, nullptr, "not JSON", std::nullopt}).ok());
    ASSERT_TRUE(letters->Flush().ok());
  }
  std::string Content() { return *env::ReadFile(files_, "/dead", 1 << 20); }

  env::SimFileSystem files_{1};
  sink::QueueDestination queue_ = *sink::QueueDestination::Of("p", "l", "q");
};

TEST_F(DeadLetterFileTest, EachLifeGoesOnAtTheEnd) {
  OfferOne("one");
  const std::string first = Content();
  OfferOne("two");
  EXPECT_TRUE(Content().starts_with(first));
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1);
  const std::string second = Content().substr(first.size());
  EXPECT_EQ(nlohmann::json::parse(second)["record"], "two");
}

TEST_F(DeadLetterFileTest, AfterATornLineTheNextBeginsOnItsOwn) {
  OfferOne("one");
  const std::string torn = Content().substr(0, Content().size() / 2);
  auto file = *files_.Open("/dead", env::OpenMode::kReadWrite);
  ASSERT_TRUE(file->Truncate(torn.size()).ok());
  OfferOne("two");
  ASSERT_TRUE(Content().starts_with(torn + "\n"));
  const std::string line = Content().substr(torn.size() + 1);
  EXPECT_EQ(nlohmann::json::parse(line)["record"], "two");
}

}  // namespace
}  // namespace sluice::runner
