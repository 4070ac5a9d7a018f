// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/http_rules.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace sluice::front {
namespace {

constexpr std::string_view kField = "task.http_request.x";

StatusOr<std::vector<core::Header>> Stored(
    std::initializer_list<std::pair<std::string, std::string>> headers) {
  google::protobuf::Map<std::string, std::string> map;
  for (const auto& [name, value] : headers) map[name] = value;
  return StoredHeaders(map, kField);
}

TEST(HttpRules, UrlsNeedASchemeOfHttpAndAHost) {
  for (const char* url : {"http://example.com", "https://example.com/a?b#c", "HTTP://EXAMPLE.com",
                          "http://user:secret@example.com:8080/", "http://[::1]:80/",
                          "http://example.com/%zz", "https://example.com/a b/\u00e9"}) {
    EXPECT_TRUE(CheckUrl(url, kField).ok()) << url;
  }
  for (const char* url : {"", "example.com", "ftp://x", "http:/x", "http://", "https:///path",
                          "http://?q", "http://:80/", "http://user@/", "/relative"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckUrl(url, kField))) << url;
  }
}

TEST(HttpRules, UrlLengthCountsEncodedCharacters) {
  const std::string start = "http://example.com/";
  EXPECT_TRUE(CheckUrl(start + std::string(kUrlLengthMax - start.size(), 'a'), kField).ok());
  EXPECT_FALSE(CheckUrl(start + std::string(kUrlLengthMax - start.size() + 1, 'a'), kField).ok());
  // A space is sent as three characters.
  EXPECT_TRUE(
      CheckUrl(start + " " + std::string(kUrlLengthMax - start.size() - 3, 'a'), kField).ok());
  EXPECT_FALSE(
      CheckUrl(start + " " + std::string(kUrlLengthMax - start.size() - 2, 'a'), kField).ok());
}

TEST(HttpRules, StoredHeadersAreInOrderAndCarryTheServicesUserAgent) {
  const auto stored = Stored({{"x-b", "2"}, {"X-A", "1"}, {"Accept", "*/*"}});
  ASSERT_TRUE(stored.ok());
  const std::vector<core::Header> expected = {
      {"Accept", "*/*"}, {"User-Agent", "Google-Cloud-Tasks"}, {"X-A", "1"}, {"x-b", "2"}};
  EXPECT_EQ(*stored, expected);
}

TEST(HttpRules, HeadersOfTheServiceAreDroppedInAnyCase) {
  const auto stored = Stored({{"host", "evil"},
                              {"Content-Length", "5"},
                              {"USER-AGENT", "mine"},
                              {"x-cloudtasks-taskname", "forged"},
                              {"X-AppEngine-B", "1"},
                              {"X-Google-A", "1"},
                              {"Transfer-Encoding", "chunked"},
                              {"Authorization", "Bearer mine"}});
  ASSERT_TRUE(stored.ok());
  const std::vector<core::Header> expected = {{"Authorization", "Bearer mine"},
                                              {"User-Agent", "Google-Cloud-Tasks"}};
  EXPECT_EQ(*stored, expected);
}

TEST(HttpRules, OneHeaderInTwoCasesIsRefused) {
  const auto stored =
      Stored({{"Content-Type", "a/b"}, {"content-type", "c/d"}, {"Content-A", "1"}});
  EXPECT_TRUE(absl::IsInvalidArgument(stored.status()));
}

TEST(HttpRules, HeadersThatWouldBreakTheRequestAreRefused) {
  EXPECT_FALSE(Stored({{"X-A", "1\r\nX-B: 2"}}).ok());
  EXPECT_FALSE(Stored({{"X A", "1"}}).ok());
  EXPECT_FALSE(Stored({{"X-A:", "1"}}).ok());
  EXPECT_FALSE(Stored({{"", "1"}}).ok());
  EXPECT_TRUE(Stored({{"X-A", "tab\tand \u00e9"}}).ok());
}

TEST(HttpRules, HeaderBytesMustStayBelowTheLimit) {
  EXPECT_TRUE(Stored({{"X-A", std::string(kHeaderBytesMax - 4, 'v')}}).ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(Stored({{"X-A", std::string(kHeaderBytesMax - 3, 'v')}}).status()));
}

TEST(HttpRules, OnlyMethodsThatTakeABodyMayHaveOne) {
  using core::HttpMethod;
  for (const HttpMethod method : {HttpMethod::kPost, HttpMethod::kPut, HttpMethod::kPatch}) {
    EXPECT_TRUE(CheckBody(method, 1, kField).ok());
  }
  for (const HttpMethod method :
       {HttpMethod::kGet, HttpMethod::kHead, HttpMethod::kDelete, HttpMethod::kOptions}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckBody(method, 1, kField)));
    EXPECT_TRUE(CheckBody(method, 0, kField).ok());
  }
}

}  // namespace
}  // namespace sluice::front
