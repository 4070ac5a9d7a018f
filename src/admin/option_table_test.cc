// SPDX-License-Identifier: Apache-2.0
#include "admin/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;

TEST(OptionTable, EveryDefaultReadsBackAsItself) {
  const ServerOptions defaults;
  for (const Option& option : Options()) {
    ServerOptions options;
    const std::string text = option.show(defaults);
    ASSERT_TRUE(option.set(options, text).ok()) << option.key << " = " << text;
    EXPECT_EQ(option.show(options), text) << option.key;
  }
}

TEST(OptionTable, KeysFlagsAndVariablesAreUnique) {
  std::set<std::string> names;
  for (const Option& option : Options()) {
    EXPECT_TRUE(names.insert(std::string(option.key)).second) << option.key;
    EXPECT_TRUE(names.insert(FlagName(option)).second) << option.key;
    EXPECT_TRUE(names.insert(EnvironmentName(option)).second) << option.key;
  }
}

TEST(OptionTable, OneKeyHasThreeSpellings) {
  const Option* option = FindOption("limits.queues_max");
  ASSERT_NE(option, nullptr);
  EXPECT_EQ(FlagName(*option), "--limits-queues-max");
  EXPECT_EQ(EnvironmentName(*option), "SLUICE_LIMITS_QUEUES_MAX");
}

TEST(OptionTable, EnvironmentSetsOptionsAndIgnoresEmptyVariables) {
  const std::map<std::string, std::string> variables = {
      {"SLUICE_LISTEN", "127.0.0.1:0,[::1]:9000"},
      {"SLUICE_DURABILITY", "os"},
      {"SLUICE_DATA_DIR", ""},
      {"SLUICE_LIMITS_QUEUE_NAME_RESERVATION", "3d"},
  };
  const auto read = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  ServerOptions options;
  ASSERT_TRUE(ApplyEnvironment(read, &options).ok());
  EXPECT_EQ(options.listen, (std::vector<ListenAddress>{{"127.0.0.1", 0}, {"::1", 9000}}));
  EXPECT_EQ(options.durability, log::Durability::kOs);
  EXPECT_EQ(options.data_dir, "sluice-data");
  EXPECT_EQ(options.limits.queue_name_reservation, absl::Hours(72));
}

TEST(OptionTable, AWrongVariableIsNamedWithWhatIsAllowed) {
  ServerOptions options;
  const Status status = ApplyEnvironment(
      [](const char* name) {
        return std::string_view(name) == "SLUICE_LOG_LEVEL" ? "loud" : nullptr;
      },
      &options);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(Message(status),
            "environment variable SLUICE_LOG_LEVEL: \"loud\" is not one of "
            "debug|info|warn|error|off");
}

TEST(ServerOptions, AddressesAreReadAndLoopbackIsKnown) {
  EXPECT_TRUE(ListenAddress::Parse("127.0.0.1:8085")->is_loopback());
  EXPECT_TRUE(ListenAddress::Parse("[::1]:0")->is_loopback());
  EXPECT_TRUE(ListenAddress::Parse("localhost:1")->is_loopback());
  EXPECT_FALSE(ListenAddress::Parse("0.0.0.0:1")->is_loopback());
  EXPECT_FALSE(ListenAddress::Parse("127.example.com:1")->is_loopback());
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->ToString(), "[::1]:0");
  for (const std::string_view text : {"", "8085", ":8085", "::1:8085", "h:65536", "h:", "h:x"}) {
    EXPECT_FALSE(ListenAddress::Parse(text).ok()) << text;
  }
}

TEST(ServerOptions, PlaintextToOthersNeedsTheFlagOrTls) {
  ServerOptions options;
  options.listen = {{"0.0.0.0", 8085}};
  EXPECT_THAT(std::string(Message(CheckOptions(options))), HasSubstr("listen 0.0.0.0:8085"));
  options.allow_plaintext_remote = true;
  EXPECT_TRUE(CheckOptions(options).ok());
  options.allow_plaintext_remote = false;
  options.tls_cert = "c.pem";
  EXPECT_THAT(std::string(Message(CheckOptions(options))), HasSubstr("tls.key is not"));
  options.tls_key = "k.pem";
  EXPECT_TRUE(CheckOptions(options).ok());
}

}  // namespace
}  // namespace sluice::admin
