// SPDX-License-Identifier: Apache-2.0
#include "admin/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "admin/option_table.h"

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kFile = "sluice.yaml";

std::string MistakesOf(std::string_view text) {
  const StatusOr<Config> config = ParseConfig(text, kFile);
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << text;
  return std::string(Message(config.status()));
}

std::string ReadSource(const std::string& path) {
  std::ifstream in(std::string(SLUICE_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Config, EverySettingOfAQueueIsRead) {
  const StatusOr<Config> config = ParseConfig(R"(
queues:
  - name: projects/p/locations/l/queues/q
    rate_limits:
      max_dispatches_per_second: 10.5
      max_burst_size: 7
      max_concurrent_dispatches: 3
    retry_config:
      max_attempts: -1
      max_retry_duration: "10s"
      min_backoff: 50ms
      max_backoff: 1m
      max_doublings: 2
    state: PAUSED
    log_sampling_ratio: 0.5
    task_ttl: 10d
    tombstone_ttl: 2h
)",
                                              kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->queues.size(), 1u);
  const QueueDeclaration& queue = config->queues[0];
  EXPECT_EQ(queue.name.ToString(), "projects/p/locations/l/queues/q");
  EXPECT_EQ(queue.settings.max_dispatches_per_second, 10.5);
  EXPECT_EQ(queue.settings.max_burst_size, 7);
  EXPECT_EQ(queue.settings.max_concurrent_dispatches, 3);
  EXPECT_EQ(queue.settings.max_attempts, -1);
  EXPECT_EQ(queue.settings.max_retry_duration, absl::Seconds(10));
  EXPECT_EQ(queue.settings.min_backoff, absl::Milliseconds(50));
  EXPECT_EQ(queue.settings.max_backoff, absl::Minutes(1));
  EXPECT_EQ(queue.settings.max_doublings, 2);
  EXPECT_EQ(queue.state, core::QueueState::kPaused);
  EXPECT_EQ(queue.settings.log_sampling_ratio, 0.5);
  EXPECT_EQ(queue.settings.task_ttl, absl::Hours(240));
  EXPECT_EQ(queue.settings.tombstone_ttl, absl::Hours(2));
  EXPECT_EQ(queue.places.size(), QueueKeys().size());
}

TEST(Config, ServerOptionsAreReadInGroupsAndAsLists) {
  const StatusOr<Config> config = ParseConfig(
      "listen: [127.0.0.1:0, '[::1]:1']\n"
      "log:\n  level: warn\n"
      "limits: {dispatches_per_second_max: 1000000}\n"
      "in_memory: true\n",
      kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  ServerOptions options;
  ASSERT_TRUE(ApplySettings(*config, &options).ok());
  EXPECT_EQ(options.listen, (std::vector<ListenAddress>{{"127.0.0.1", 0}, {"::1", 1}}));
  EXPECT_EQ(options.log_level, LogLevel::kWarn);
  EXPECT_EQ(options.limits.dispatches_per_second_max, 1e6);
  EXPECT_TRUE(options.in_memory);
  EXPECT_EQ(options.data_dir, ServerOptions().data_dir);
}

TEST(Config, AnEmptyFileDeclaresNothing) {
  for (const std::string_view text : {"", "# only a comment\n", "queues:\n", "queues: []\n"}) {
    const StatusOr<Config> config = ParseConfig(text, kFile);
    ASSERT_TRUE(config.ok()) << text << config.status();
    EXPECT_TRUE(config->queues.empty());
    EXPECT_TRUE(config->settings.empty());
  }
}

TEST(Config, AWrongValueIsReportedWithPlaceKeyValueAndWhatIsAllowed) {
  EXPECT_EQ(MistakesOf("listen: 127.0.0.1:0\ndurability: fsync\n"),
            "sluice.yaml:2:13: durability: \"fsync\" is not one of sync|os");
  EXPECT_EQ(MistakesOf("queues:\n"
                       "  - name: projects/p/locations/l/queues/q\n"
                       "    rate_limits:\n"
                       "      max_dispatches_per_second: 0\n"),
            "sluice.yaml:4:34: queues[0].rate_limits.max_dispatches_per_second: 0 is outside "
            "0.001 to 1000000000");
}

TEST(Config, UnknownKeysAreRefusedWithTheNearestKnownOne) {
  EXPECT_EQ(MistakesOf("data-dir: x\n"),
            "sluice.yaml:1:1: data-dir: unknown key; did you mean data_dir?");
  EXPECT_EQ(MistakesOf("limits:\n  queue_max: 3\n"),
            "sluice.yaml:2:3: limits.queue_max: unknown key; did you mean limits.queues_max?");
  EXPECT_THAT(MistakesOf("queues:\n  - name: projects/p/locations/l/queues/q\n"
                         "    retry_config: {max_atempts: 3}\n"),
              HasSubstr("did you mean retry_config.max_attempts?"));
  EXPECT_THAT(MistakesOf("completely_different: 1\n"), Not(HasSubstr("did you mean")));
}

TEST(Config, EveryMistakeIsReportedAtOnce) {
  const std::string mistakes = MistakesOf(
      "durability: fsync\n"
      "in_memory: maybe\n"
      "queues:\n"
      "  - name: projects/p/locations/l/queues/under_score\n"
      "  - state: STOPPED\n");
  EXPECT_THAT(mistakes, HasSubstr("sluice.yaml:1:13: durability"));
  EXPECT_THAT(mistakes, HasSubstr("sluice.yaml:2:12: in_memory"));
  EXPECT_THAT(mistakes, HasSubstr("sluice.yaml:4:11: queues[0].name"));
  EXPECT_THAT(mistakes, HasSubstr("sluice.yaml:5:12: queues[1].state: \"STOPPED\""));
  EXPECT_THAT(mistakes, HasSubstr("queues[1].name: required"));
}

TEST(Config, MistakesBeyondTheMaximumAreCounted) {
  std::string text;
  for (int i = 0; i < 25; ++i) text += fmt::format("unknown_{}: 1\n", i);
  EXPECT_THAT(MistakesOf(text), HasSubstr("... and 5 more"));
}

TEST(Config, ShapesThatDoNotFitAreRefused) {
  EXPECT_THAT(MistakesOf("- a\n"), HasSubstr("the file must be a map"));
  EXPECT_THAT(MistakesOf("limits: 3\n"), HasSubstr("limits must be a map"));
  EXPECT_THAT(MistakesOf("queues: {a: b}\n"), HasSubstr("queues: must be a list"));
  EXPECT_THAT(MistakesOf("queues: [a]\n"), HasSubstr("queues[0] must be a map"));
  EXPECT_THAT(MistakesOf("data_dir:\n"), HasSubstr("data_dir: has no value"));
  EXPECT_THAT(MistakesOf("data_dir: [a]\n"), HasSubstr("is a list or a map"));
  EXPECT_THAT(MistakesOf("data_dir: a\ndata_dir: b\n"), HasSubstr(":2:1: data_dir: given twice"));
  EXPECT_THAT(MistakesOf("in_memory: true\n---\nin_memory: true\n"),
              HasSubstr("a second document"));
  EXPECT_THAT(MistakesOf("port_file: p\n"), HasSubstr("only as --port-file"));
  EXPECT_THAT(MistakesOf("a: [\n"), HasSubstr("not YAML"));
  EXPECT_THAT(MistakesOf("a: *nowhere\n"), HasSubstr("not YAML"));
}

// yaml-cpp's LoadAll reports such a file's documents without end.
TEST(Config, TextThatIsNoYamlIsRefusedInsteadOfReadForEver) {
  for (const char* text : {",i:\n  d: 1{c: d}]\nq\n", ",", ",a: b\n"}) {
    const StatusOr<Config> config = ParseConfig(text, "f.yaml");
    EXPECT_FALSE(config.ok()) << text;
  }
}

TEST(Config, AQueueDeclaredTwiceIsRefusedNamingBothPlaces) {
  const std::string mistakes = MistakesOf(
      "queues:\n"
      "  - name: projects/p/locations/l/queues/q\n"
      "  - name: projects/p/locations/l/queues/q\n");
  EXPECT_THAT(mistakes, HasSubstr("sluice.yaml:3:5"));
  EXPECT_THAT(mistakes, HasSubstr("declared already at sluice.yaml:2:5"));
}

TEST(Config, MinBackoffAboveMaxBackoffIsRefused) {
  EXPECT_THAT(MistakesOf("queues:\n  - name: projects/p/locations/l/queues/q\n"
                         "    retry_config: {min_backoff: 10s, max_backoff: 5s}\n"),
              HasSubstr("min_backoff: 10s is above max_backoff 5s"));
}

TEST(Config, QueuesAreCheckedAgainstTheLimitsThatWereFinallySet) {
  const StatusOr<Config> config = ParseConfig(
      "queues:\n  - name: projects/p/locations/l/queues/q\n"
      "    rate_limits: {max_dispatches_per_second: 501}\n",
      kFile);
  ASSERT_TRUE(config.ok());
  core::TaskLimits limits;
  EXPECT_EQ(Message(CheckQueues(*config, limits)),
            "sluice.yaml:3:46: rate_limits.max_dispatches_per_second of "
            "projects/p/locations/l/queues/q: 501 is above limits.dispatches_per_second_max 500");
  limits.dispatches_per_second_max = 501;
  EXPECT_TRUE(CheckQueues(*config, limits).ok());
}

TEST(Config, TheReferencePageHasExactlyTheKeysOfTheTables) {
  // Rows of the page begin with the key between back quotes.
  const std::string page = ReadSource("docs/reference/configuration.md");
  std::map<std::string, std::string> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    EXPECT_TRUE(rows.emplace(line.substr(3, end - 3), line).second) << "twice: " << line;
  }
  const ServerOptions defaults;
  for (const Option& option : Options()) {
    const auto row = rows.find(std::string(option.key));
    ASSERT_NE(row, rows.end()) << option.key << " is missing in the page";
    const std::string shown = option.show(defaults);
    EXPECT_THAT(row->second, HasSubstr("| " + (shown.empty() ? "" : "`" + shown + "`")))
        << option.key;
    EXPECT_THAT(row->second, HasSubstr(std::string(option.help)));
    rows.erase(row);
  }
  for (const QueueKey& key : QueueKeys()) {
    const auto row = rows.find("queues[]." + std::string(key.path));
    ASSERT_NE(row, rows.end()) << key.path << " is missing in the page";
    EXPECT_THAT(row->second, HasSubstr(std::string(key.help)));
    rows.erase(row);
  }
  EXPECT_TRUE(rows.empty()) << rows.begin()->first << " is in the page only";
}

TEST(Config, TheQuickstartExampleIsValid) {
  const StatusOr<Config> config =
      ParseConfig(ReadSource("docs/examples/quickstart.yaml"), "quickstart.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->queues.empty());
  EXPECT_TRUE(CheckQueues(*config, core::TaskLimits()).ok());
}

}  // namespace
}  // namespace sluice::admin
