// SPDX-License-Identifier: Apache-2.0

// Proves who owns which header (spec 4.3, acceptance 85 and 86) and that no
// value which could break out of its line is called valid.

#include "base/http_headers.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice {
namespace {

TEST(HttpHeaders, ServiceNamesAreOwnedInAnyCase) {
  for (const char* name :
       {"Host", "hOST", "Content-Length", "CONTENT-LENGTH", "User-Agent", "user-agent",
        "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "transfer-encoding",
        "Upgrade", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "Expect"}) {
    EXPECT_TRUE(IsServiceHeader(name)) << name;
  }
}

TEST(HttpHeaders, ReservedFamiliesAreOwnedInAnyCase) {
  for (const char* name : {"X-CloudTasks-TaskName", "x-cloudtasks-taskname", "X-CLOUDTASKS-Other",
                           "X-Google-A", "x-google-", "X-AppEngine-B", "X-Appengine-QueueName"}) {
    EXPECT_TRUE(IsServiceHeader(name)) << name;
  }
}

TEST(HttpHeaders, EverythingElseBelongsToTheCaller) {
  for (const char* name : {"X-My-Header", "Authorization", "Content-Type", "Accept", "Cookie",
                           "X-CloudTasks", "X-Googlesque", "Hosts", "Hos", "X-Host", ""}) {
    EXPECT_FALSE(IsServiceHeader(name)) << name;
  }
}

TEST(HttpHeaders, NamesAreTokens) {
  EXPECT_TRUE(IsValidHeaderName("X-My_Header.1~"));
  for (const char* name : {"", "a b", "a:", "a;", "a\r\n", "\xc3\xa9", "a\t", "(a)"}) {
    EXPECT_FALSE(IsValidHeaderName(name)) << name;
  }
}

TEST(HttpHeaders, ValuesCannotEndTheirLine) {
  EXPECT_TRUE(IsValidHeaderValue(""));
  EXPECT_TRUE(IsValidHeaderValue("a\tb c; \xc3\xa9"));
  EXPECT_FALSE(IsValidHeaderValue("a\r\nX-Evil: 1"));
  EXPECT_FALSE(IsValidHeaderValue("a\nb"));
  EXPECT_FALSE(IsValidHeaderValue(std::string(1, '\0')));
  EXPECT_FALSE(IsValidHeaderValue("\x7f"));
}

TEST(HttpHeaders, MediaTypesHaveCaseAndParametersOfNoWeight) {
  for (const char* json : {"application/json", "Application/JSON", "application/json;charset=utf-8",
                           "application/json \t; x=y"}) {
    EXPECT_TRUE(IsMediaType(json, "application/json")) << json;
  }
  for (const char* other : {"", ";", "application/jsonp", "text/plain; application/json", "json"}) {
    EXPECT_FALSE(IsMediaType(other, "application/json")) << other;
  }
}

}  // namespace
}  // namespace sluice
