// SPDX-License-Identifier: Apache-2.0
#include "dispatch/url.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::dispatch {
namespace {

std::string Encoded(std::string_view url) {
  const StatusOr<std::string> result = UrlForRequest(url);
  EXPECT_TRUE(result.ok()) << url << ": " << Message(result.status());
  return result.ok() ? *result : std::string();
}

bool IsRefused(std::string_view url) {
  return UrlForRequest(url).status().code() == absl::StatusCode::kInvalidArgument;
}

TEST(Url, APlainUrlStaysAsItIs) {
  for (const char* url :
       {"http://h", "https://h:8443/a/b?c=d&e=%2F+f", "http://[::1]:80/x", "HTTP://Host/a%20b",
        "http://user:pw@h/", "http://h?q", "http://h/a/../b/./c//d", "http://h/\"<>\\^`{|}"}) {
    EXPECT_EQ(Encoded(url), url);
  }
}

TEST(Url, SpacesControlsAndBytesBeyondAsciiAreEncoded) {
  EXPECT_EQ(Encoded("http://h/a b?c d"), "http://h/a%20b?c%20d");
  EXPECT_EQ(Encoded("http://h/\r\nX: 1\t\x7f"), "http://h/%0D%0AX:%201%09%7F");
  EXPECT_EQ(Encoded("http://h/\xc3\xa9"), "http://h/%C3%A9");
}

TEST(Url, NoByteOfPathOrQueryReachesTheRequestLineRaw) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string url = "http://h/?x";
    url.push_back(static_cast<char>(byte));
    const StatusOr<std::string> result = UrlForRequest(url);
    if (byte == '%') {
      EXPECT_FALSE(result.ok());
      continue;
    }
    ASSERT_TRUE(result.ok()) << byte;
    for (const char c : *result) {
      EXPECT_GT(c, 0x20) << byte;
      EXPECT_LT(c, 0x7f) << byte;
    }
  }
}

TEST(Url, TheFragmentIsDropped) {
  EXPECT_EQ(Encoded("http://h/a#b"), "http://h/a");
  EXPECT_EQ(Encoded("http://h/a?b#c?d#e"), "http://h/a?b");
  EXPECT_EQ(Encoded("http://h#a/b"), "http://h");
}

TEST(Url, AMalformedEscapeIsRefusedWithItsPlace) {
  EXPECT_TRUE(IsRefused("http://h/%zz"));
  EXPECT_TRUE(IsRefused("http://h/%"));
  EXPECT_TRUE(IsRefused("http://h/%a"));
  EXPECT_TRUE(IsRefused("http://h/?q=%4"));
  const StatusOr<std::string> result = UrlForRequest("http://h/ab%zz");
  EXPECT_NE(Message(result.status()).find("byte 11"), std::string_view::npos);
}

TEST(Url, AMalformedEscapeInTheFragmentIsNobodysConcern) {
  EXPECT_EQ(Encoded("http://h/a#%zz"), "http://h/a");
}

TEST(Url, RefusesWhatCannotBeCalled) {
  for (const char* url :
       {"", "h/a", "ftp://h/", "file:///etc/passwd", "http:/h", "http://", "http:///a",
        "http://:80/", "http://user@/", "http://h h/", "http://h\r/", "//h/a", "javascript:1"}) {
    EXPECT_TRUE(IsRefused(url)) << url;
  }
}

TEST(Url, TheOriginHoldsNoSecrets) {
  EXPECT_EQ(Origin("https://user:secret@h:8443/a?token=x"), "https://h:8443");
  EXPECT_EQ(Origin("http://h?token=x"), "http://h");
  EXPECT_EQ(Origin("nonsense"), "");
}

}  // namespace
}  // namespace sluice::dispatch
