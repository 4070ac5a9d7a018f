// SPDX-License-Identifier: Apache-2.0
#include "runner/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace sluice::runner {
namespace {

using testing::HasSubstr;

GivenOptions Least() {
  return {{"from", "orders.ndjson"},
          {"queue", "projects/p/locations/l/queues/q"},
          {"http.url", "http://shop/"}};
}

std::string Refusal(const GivenOptions& more) {
  GivenOptions given = Least();
  given.insert(given.end(), more.begin(), more.end());
  return std::string(Message(ParseOptions(given).status()));
}

TEST(Options, TheCallThatScriptsRelyOn) {
  GivenOptions given = Least();
  given.insert(given.end(), {{"endpoint", "127.0.0.1:8085"},
                             {"checkpoint-dir", "d"},
                             {"checkpoint-interval", "1s"},
                             {"sink.delivery-guarantee", "exactly-once"}});
  const auto options = ParseOptions(given);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->sink.is_exactly_once);
  EXPECT_EQ(options->checkpoint_interval, absl::Seconds(1));
  EXPECT_EQ(options->mapping.method, "POST");
  EXPECT_EQ(options->mapping.body_format, "record");
}

TEST(Options, AFileHasTheSameKeysFlatOrNested) {
  const auto given = ReadOptionsFile(
      "from: [a, b]\nhttp.url: http://x/\nhttp:\n  headers:\n    X-A: 1\nsink:\n  staged:\n    "
      "max-tasks: 10\n");
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(*given,
              testing::UnorderedElementsAre(testing::Pair("from", "a"), testing::Pair("from", "b"),
                                            testing::Pair("http.url", "http://x/"),
                                            testing::Pair("http.headers.X-A", "1"),
                                            testing::Pair("sink.staged.max-tasks", "10")));
  EXPECT_THAT(std::string(Message(ReadOptionsFile("a: [\n").status())), HasSubstr("line"));
}

TEST(Options, DurationsAndSizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*ParseDuration("1s"), absl::Seconds(1));
  EXPECT_EQ(*ParseDuration("5 min"), absl::Minutes(5));
  EXPECT_EQ(*ParseDuration("250ms"), absl::Milliseconds(250));
  for (const char* bad : {"", "5", "-1s", "1 parsec", "s"})
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  EXPECT_EQ(*ParseMemorySize("64mb"), 64 << 20);
  EXPECT_EQ(*ParseMemorySize("4096"), 4096);
  for (const char* bad : {"", "mb", "-1", "9999999999999gb"}) {
    EXPECT_FALSE(ParseMemorySize(bad).ok()) << bad;
  }
}

HeaderList HeadersOf(const std::string& packed) {
  GivenOptions given = Least();
  given.emplace_back("http.headers", packed);
  const auto options = ParseOptions(given);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? options->mapping.headers : HeaderList();
}

TEST(Options, HeadersMayStandInOneText) {
  EXPECT_EQ(HeadersOf("X-A:1"), (HeaderList{{"X-A", "1"}}));
  EXPECT_EQ(HeadersOf(" X-A : 1 ,X-B: http://h/${id} "),
            (HeaderList{{"X-A", "1"}, {"X-B", "http://h/${id}"}}));
  EXPECT_EQ(HeadersOf("X-A: 'a, ''b'' c', X-B: \" c \", X-C:"),
            (HeaderList{{"X-A", "a, 'b' c"}, {"X-B", " c "}, {"X-C", ""}}));
  EXPECT_THAT(Refusal({{"http.headers", "X-A"}}), HasSubstr("http.headers: \"X-A\" is not a list"));
  EXPECT_THAT(Refusal({{"http.headers", "X-A: 'open"}}), HasSubstr("is not a list of headers"));
  EXPECT_THAT(Refusal({{"http.headers", "X-A: 'a' b"}}), HasSubstr("is not a list of headers"));
  EXPECT_THAT(Refusal({{"http.headers", "X A: 1"}}), HasSubstr("not a header's name"));
  EXPECT_THAT(Refusal({{"http.headers", "X-A:1,x-a:2"}}), HasSubstr("twice"));
}

TEST(Options, C211_HeadersHaveOneFormAtATime) {
  const std::string refusal = Refusal({{"http.headers", "X-A:1"}, {"http.headers.X-B", "2"}});
  EXPECT_THAT(refusal, HasSubstr("http.headers and http.headers.X-B exclude each other"));
  EXPECT_THAT(Refusal({{"target.type", "app-engine"},
                       {"app-engine.headers", "X-A:1"},
                       {"app-engine.headers.X-B", "2"}}),
              HasSubstr("app-engine.headers and app-engine.headers.X-B exclude each other"));
}

TEST(Options, EveryRefusalNamesTheKey) {
  EXPECT_THAT(Refusal({{"http.uri", "x"}}), HasSubstr("option http.uri: there is no such option"));
  EXPECT_THAT(Refusal({{"http.method", "BREW"}}), HasSubstr("http.method: \"BREW\" is none of"));
  EXPECT_THAT(Refusal({{"sink.recovery.max-attempts", "0"}}),
              HasSubstr("sink.recovery.max-attempts"));
  EXPECT_THAT(Refusal({{"sink.recovery.max-backoff", "10us"}}),
              HasSubstr("sink.recovery.max-backoff"));
  EXPECT_THAT(Refusal({{"checkpoint-interval", "soon"}}),
              HasSubstr("checkpoint-interval: \"soon\""));
  EXPECT_THAT(Refusal({{"http.headers.X-A", "1"}, {"http.headers.x-a", "2"}}), HasSubstr("twice"));
}

TEST(Options, KeysThatExcludeOrNeedEachOther) {
  EXPECT_THAT(Refusal({{"app-engine.service", "s"}}),
              HasSubstr("does not belong to target.type http"));
  EXPECT_THAT(Refusal({{"emulator-endpoint", "h:1"}, {"service-account-key-file", "k"}}),
              HasSubstr("service-account-key-file does not go with emulator-endpoint"));
  EXPECT_THAT(Refusal({{"emulator-endpoint", "h:1"}, {"sink.channel-pool-size", "2"}}),
              HasSubstr("sink.channel-pool-size does not go with emulator-endpoint"));
  EXPECT_THAT(Refusal({{"emulator-endpoint", "h:0"}}), HasSubstr("host:port"));
  EXPECT_THAT(Refusal({{"endpoint", "nowhere"}}), HasSubstr("host:port"));
  EXPECT_THAT(Refusal({{"sink.staged.max-tasks", "10"}}),
              HasSubstr("needs sink.delivery-guarantee"));
  EXPECT_THAT(Refusal({{"sink.delivery-guarantee", "exactly-once"}}), HasSubstr("checkpoint-dir"));
  EXPECT_THAT(Refusal({{"checkpoint-interval", "1s"}}),
              HasSubstr("checkpoint-interval needs --checkpoint-dir"));
  EXPECT_THAT(Refusal({{"sink.delivery-guarantee", "exactly-once"},
                       {"checkpoint-dir", "d"},
                       {"on-failure", "drop"}}),
              HasSubstr("does not go with exactly-once"));
  EXPECT_THAT(Refusal({{"http.oidc.audience", "a"}}), HasSubstr("needs http.oidc"));
  EXPECT_THAT(Refusal({{"http.oidc.service-account-email", "a"},
                       {"http.oauth.service-account-email", "b"}}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal({{"endpoint", "h:1"},
                       {"tls", "true"},
                       {"tls-root-file", "roots.pem"},
                       {"service-account-key-file", "key.json"}}),
              HasSubstr("tls-root-file does not go with service-account-key-file"));
  EXPECT_THAT(Refusal({{"body.format", "template"}}), HasSubstr("body.template"));
  EXPECT_THAT(Refusal({{"body.field", "x"}}), HasSubstr("body.field"));
  EXPECT_THAT(Refusal({{"on-failure", "dead-letter-file"}}), HasSubstr("dead-letter-file"));
}

TEST(Options, NoKeyIsKnownTwice) {
  std::map<std::string_view, int> counts;
  for (const OptionInfo& option : KnownOptions()) EXPECT_EQ(++counts[option.key], 1) << option.key;
}

TEST(Options, TheReferencePageHasEachKey) {
  std::ifstream page(SLUICE_SOURCE_DIR "/docs/reference/sink.md");
  const std::string text(std::istreambuf_iterator<char>(page), {});
  for (const OptionInfo& option : KnownOptions()) {
    EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` |", option.key)));
  }
}

}  // namespace
}  // namespace sluice::runner
