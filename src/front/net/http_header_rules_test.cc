// SPDX-License-Identifier: Apache-2.0
#include "front/net/http_header_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sluice::front::net {
namespace {

using ::testing::HasSubstr;

std::optional<HeaderFault> Fault(std::vector<HttpHeader> headers, bool is_http_1_0 = false) {
  HttpRequest request;
  request.headers = std::move(headers);
  return FindHeaderFault(request, is_http_1_0);
}

TEST(HttpHeaderRules, OrdinaryHeadersHaveOneMeaning) {
  EXPECT_FALSE(Fault({}));
  EXPECT_FALSE(Fault({{"Host", "h"}, {"Content-Length", "2"}, {"X-A", "1"}, {"X-A", "2\t3"}}));
  EXPECT_FALSE(Fault({{"Host", "h"}, {"transfer-encoding", "Chunked"}}));
}

TEST(HttpHeaderRules, WhatDecidesIsSentOnce) {
  for (const char* name : {"Host", "Content-Length", "Transfer-Encoding", "Content-Type"}) {
    const auto fault = Fault({{name, "2"}, {"X", "y"}, {name, "2"}});
    ASSERT_TRUE(fault) << name;
    EXPECT_EQ(fault->status, 400);
    EXPECT_THAT(fault->text, HasSubstr(name));
  }
}

TEST(HttpHeaderRules, ABodyHasOneEnd) {
  EXPECT_TRUE(Fault({{"Content-Length", "2"}, {"Transfer-Encoding", "chunked"}}));
  EXPECT_TRUE(Fault({{"Transfer-Encoding", "chunked"}}, /*is_http_1_0=*/true));
  for (const char* coding : {"gzip, chunked", "identity", "xchunked", "chunked, identity", ""}) {
    const auto fault = Fault({{"Transfer-Encoding", coding}});
    ASSERT_TRUE(fault) << coding;
    EXPECT_EQ(fault->status, 501);
  }
}

TEST(HttpHeaderRules, NamesAndValuesAreThoseOfTheProtocol) {
  for (const char* name : {"Content-Length ", "X Y", "", "\tX", "X\x01"}) {
    EXPECT_TRUE(Fault({{name, "2"}})) << name;
  }
  for (const char* value : {"a\rb", "a\nb", "\x01", "\x7f"}) {
    EXPECT_TRUE(Fault({{"X", value}})) << value;
  }
}

}  // namespace
}  // namespace sluice::front::net
