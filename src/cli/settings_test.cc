// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "env/sim/file_system.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  void WriteConfig(std::string_view text) {
    ASSERT_TRUE(env::WriteFileAtomically(files_, "c.yaml", text).ok());
  }
  StatusOr<Settings> Load() {
    return LoadSettings(
        flags_,
        [this](const char* name) -> const char* {
          const auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        files_);
  }

  env::SimFileSystem files_{1};
  FlagValues flags_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, WithNothingGivenTheDefaultsHold) {
  const StatusOr<Settings> settings = Load();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(Differences(settings->options, admin::ServerOptions()), ElementsAre());
}

TEST_F(SettingsTest, FlagsWinOverTheEnvironmentAndItOverTheFile) {
  WriteConfig("data_dir: file\nshutdown_grace: 1s\nlog: {level: warn}\n");
  flags_ = {{"config", "c.yaml"}, {"data_dir", "flag"}};
  variables_ = {{"SLUICE_DATA_DIR", "variable"}, {"SLUICE_SHUTDOWN_GRACE", "2s"}};
  const StatusOr<Settings> settings = Load();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->options.data_dir, "flag");
  EXPECT_EQ(settings->options.shutdown_grace, absl::Seconds(2));
  EXPECT_EQ(settings->options.log_level, admin::LogLevel::kWarn);
}

TEST_F(SettingsTest, TheFileMayBeNamedByTheEnvironment) {
  WriteConfig("queues:\n  - name: projects/p/locations/l/queues/q\n");
  variables_ = {{"SLUICE_CONFIG", "c.yaml"}};
  EXPECT_EQ(Load()->config.queues.size(), 1u);
}

TEST_F(SettingsTest, ErrorsNameTheFlagTheVariableOrThePlaceInTheFile) {
  flags_ = {{"durability", "maybe"}};
  EXPECT_THAT(std::string(Message(Load().status())), HasSubstr("--durability: \"maybe\""));
  flags_ = {{"config", "missing.yaml"}};
  EXPECT_THAT(std::string(Message(Load().status())), HasSubstr("configuration file missing.yaml"));
  WriteConfig("durability: maybe\n");
  flags_ = {{"config", "c.yaml"}};
  EXPECT_THAT(std::string(Message(Load().status())), HasSubstr("c.yaml:1:13: durability"));
}

TEST_F(SettingsTest, QueuesAreCheckedAgainstLimitsThatFlagsSet) {
  WriteConfig(
      "queues:\n  - name: projects/p/locations/l/queues/q\n"
      "    rate_limits: {max_dispatches_per_second: 1000}\n");
  flags_ = {{"config", "c.yaml"}};
  EXPECT_TRUE(absl::IsInvalidArgument(Load().status()));
  flags_["limits.dispatches_per_second_max"] = "1000";
  EXPECT_TRUE(Load().ok());
}

TEST_F(SettingsTest, DifferencesNameTheKeys) {
  admin::ServerOptions running;
  admin::ServerOptions wanted;
  wanted.in_memory = true;
  wanted.limits.queues_max = 7;
  EXPECT_THAT(Differences(running, wanted), ElementsAre("in_memory", "limits.queues_max"));
}

}  // namespace
}  // namespace sluice::cli
