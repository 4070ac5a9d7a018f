// SPDX-License-Identifier: Apache-2.0
#include "dispatch/uri_override.h"

#include <gtest/gtest.h>

// The worked examples of spec 2.8, and the corners of each part.

namespace sluice::dispatch {
namespace {

using core::UriEnforceMode;
using core::UriOverride;
using core::UriScheme;

std::string Apply(std::string_view url, const UriOverride& uri, bool empty_clears = false) {
  const StatusOr<std::string> result = OverrideUrl(url, uri, empty_clears);
  EXPECT_TRUE(result.ok()) << Message(result.status());
  return result.value_or("");
}

UriOverride Worked() { return {.scheme = UriScheme::kHttp, .host = "b.example", .port = 8080}; }

TEST(UriOverride, TheWorkedExamples) {  // [108]
  UriOverride uri = Worked();
  EXPECT_EQ(Apply("https://a.example/x?k=1", uri), "http://b.example:8080/x?k=1");
  uri.path = "/y";
  EXPECT_EQ(Apply("https://a.example/x?k=1", uri), "http://b.example:8080/y?k=1");
  uri.query = "q=2";
  EXPECT_EQ(Apply("https://a.example/x?k=1", uri), "http://b.example:8080/y?q=2");
}

TEST(UriOverride, IfNotExistsFillsInWhatIsMissing) {
  UriOverride uri = Worked();
  uri.mode = UriEnforceMode::kIfNotExists;
  EXPECT_EQ(Apply("https://a.example/x?k=1", uri), "https://a.example:8080/x?k=1");
  uri.path = "/y";
  uri.query = "q=2";
  EXPECT_EQ(Apply("https://a.example:1/x?k=1", uri), "https://a.example:1/x?k=1");
  EXPECT_EQ(Apply("https://a.example", uri), "https://a.example:8080/y?q=2");
}

TEST(UriOverride, NothingSetChangesNothing) {
  for (const char* url :
       {"http://h", "http://h/", "https://u:p@h:1/a/b?c=d&e", "http://[::1]:80/"}) {
    EXPECT_EQ(Apply(url, {}), url);
  }
}

TEST(UriOverride, ASchemeWithoutAValueIsHttps) {
  EXPECT_EQ(Apply("http://h/", {.scheme = UriScheme::kUnspecified}), "https://h/");
}

TEST(UriOverride, PortZeroRemovesThePort) {
  EXPECT_EQ(Apply("http://h:81/x", {.port = 0}), "http://h/x");
  EXPECT_EQ(Apply("http://[::1]:81/x", {.port = 0}), "http://[::1]/x");
  EXPECT_EQ(Apply("http://[::1]/x", {.port = 9}), "http://[::1]:9/x");
}

TEST(UriOverride, AnotherHostDoesNotGetTheUsersPassword) {
  EXPECT_EQ(Apply("http://u:p@h:81/x", {.host = "b"}), "http://b:81/x");
  EXPECT_EQ(Apply("http://u:p@h:81/x", {.port = 82}), "http://u:p@h:82/x");
}

// What the command line tool sends beside a host.
TEST(UriOverride, EmptyPathAndQueryKeepTheTasksUnlessTheyClear) {
  const UriOverride uri{.host = "b", .path = "", .query = ""};
  EXPECT_EQ(Apply("http://a/x?k=1", uri), "http://b/x?k=1");
  EXPECT_EQ(Apply("http://a/x?k=1", uri, /*empty_clears=*/true), "http://b");
}

TEST(UriOverride, PathAndQueryGetTheirSeparators) {
  EXPECT_EQ(Apply("http://a", {.path = "y", .query = "?q"}), "http://a/y?q");
}

TEST(UriOverride, TheFragmentIsDropped) {
  EXPECT_EQ(Apply("http://a/x#f?g", {.host = "b"}), "http://b/x");
  EXPECT_EQ(Apply("http://a#f", {.host = "b"}), "http://b");
}

TEST(UriOverride, AUrlOfAnotherSchemeIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(OverrideUrl("ftp://a", {.host = "b"}, false).status()));
}

}  // namespace
}  // namespace sluice::dispatch
