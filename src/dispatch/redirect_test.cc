// SPDX-License-Identifier: Apache-2.0
#include "dispatch/redirect.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::dispatch {
namespace {

using core::HttpMethod;

constexpr std::string_view kFrom = "https://a/x";

TEST(Redirect, MethodAndBodyAreKeptSoThatATaskIsNotLostInAGet) {
  for (const int status : {301, 302, 307, 308}) {
    const std::optional<Redirect> redirect =
        FollowRedirect(HttpMethod::kPost, kFrom, status, "https://a/y");
    ASSERT_TRUE(redirect.has_value()) << status;
    EXPECT_EQ(redirect->method, HttpMethod::kPost);
    EXPECT_TRUE(redirect->is_body_kept);
    EXPECT_EQ(redirect->url, "https://a/y");
  }
}

TEST(Redirect, SeeOtherAsksWithGet) {
  const std::optional<Redirect> redirect =
      FollowRedirect(HttpMethod::kPut, kFrom, 303, "https://a/y");
  ASSERT_TRUE(redirect.has_value());
  EXPECT_EQ(redirect->method, HttpMethod::kGet);
  EXPECT_FALSE(redirect->is_body_kept);
  EXPECT_EQ(FollowRedirect(HttpMethod::kHead, kFrom, 303, "https://a/y")->method,
            HttpMethod::kHead);
}

TEST(Redirect, OtherStatusesLeadNowhere) {
  for (const int status : {200, 201, 300, 304, 305, 306, 404}) {
    EXPECT_FALSE(FollowRedirect(HttpMethod::kPost, kFrom, status, "https://a/y").has_value());
  }
}

TEST(Redirect, OnlyCompleteHttpLocationsAreFollowed) {
  for (const char* location :
       {"/y", "y", "", "//b/y", "ftp://a/y", "file:///etc/passwd", "https://", "https://a/%zz"}) {
    EXPECT_FALSE(FollowRedirect(HttpMethod::kPost, kFrom, 302, location).has_value()) << location;
  }
}

TEST(Redirect, AnotherSchemeHostOrPortIsAnotherOrigin) {
  const auto is_same = [](std::string_view location) {
    return FollowRedirect(HttpMethod::kPost, "https://a:1/x", 307, location)->is_same_origin;
  };
  EXPECT_TRUE(is_same("https://a:1/y?z"));
  EXPECT_TRUE(is_same("HTTPS://A:1/y"));
  EXPECT_FALSE(is_same("http://a:1/x"));
  EXPECT_FALSE(is_same("https://a:2/x"));
  EXPECT_FALSE(is_same("https://b:1/x"));
  EXPECT_FALSE(is_same("https://a:1.b/x"));
}

}  // namespace
}  // namespace sluice::dispatch
