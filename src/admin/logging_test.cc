// SPDX-License-Identifier: Apache-2.0
#include "admin/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "env/virtual_clock.h"

namespace sluice::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LoggingTest : public ::testing::Test {
 protected:
  Logger Make(LogLevel level, LogFormat format) {
    return Logger(level, format, clock_,
                  [this](std::string_view line) { lines_.emplace_back(line); });
  }

  env::VirtualClock clock_{absl::FromUnixMillis(1896084000500)};
  std::vector<std::string> lines_;
};

TEST_F(LoggingTest, TextLinesHaveTimeLevelEventAndFields) {
  Make(LogLevel::kInfo, LogFormat::kText)
      .Info("queue_created", {{"queue", "projects/p"}, {"rate", 10.5}, {"is_paused", true}});
  EXPECT_THAT(lines_, ElementsAre("2030-01-31T10:00:00.5Z INFO queue_created queue=projects/p "
                                  "rate=10.5 is_paused=true"));
}

TEST_F(LoggingTest, OneEventStaysOneLineWhateverTheValueHolds) {
  Make(LogLevel::kInfo, LogFormat::kText).Warn("odd", {{"text", "a b\n\"c\"\xff"}, {"none", ""}});
  EXPECT_THAT(lines_, ElementsAre("2030-01-31T10:00:00.5Z WARN odd text=\"a b\\n\\\"c\\\"\xEF\xBF"
                                  "\xBD\" none=\"\""));
}

TEST_F(LoggingTest, JsonLinesAreObjectsWithTypedValues) {
  Make(LogLevel::kDebug, LogFormat::kJson).Debug("call", {{"status", 200}, {"path", "/a\"b"}});
  ASSERT_EQ(lines_.size(), 1u);
  const auto line = nlohmann::json::parse(lines_[0], nullptr, false);
  ASSERT_TRUE(line.is_object()) << lines_[0];
  EXPECT_EQ(line["time"], "2030-01-31T10:00:00.5Z");
  EXPECT_EQ(line["level"], "DEBUG");
  EXPECT_EQ(line["event"], "call");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["path"], "/a\"b");
}

TEST_F(LoggingTest, LinesBelowTheLevelAreNotWritten) {
  Make(LogLevel::kWarn, LogFormat::kText).Info("quiet");
  Make(LogLevel::kOff, LogFormat::kText).Error("quiet");
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(LoggingTest, LongValuesAreCut) {
  Make(LogLevel::kInfo, LogFormat::kText)
      .Info("long", {{"value", std::string(kLogValueBytesMax + 1, 'x')}});
  EXPECT_LT(lines_[0].size(), kLogValueBytesMax + 100);
  EXPECT_TRUE(lines_[0].ends_with("xxx..."));
}

}  // namespace
}  // namespace sluice::admin
