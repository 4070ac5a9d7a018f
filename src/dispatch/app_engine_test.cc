// SPDX-License-Identifier: Apache-2.0
#include "dispatch/app_engine.h"

#include <gtest/gtest.h>

namespace sluice::dispatch {
namespace {

std::string Found(const AppEngineTable& table, const core::AppEngineRouting& routing) {
  const auto url = table.BaseUrl(routing);
  return url.ok() ? std::string(*url) : std::string(Message(url.status()));
}

TEST(AppEngineTable, TheEntryThatSaysMostCounts) {
  const auto table = MakeAppEngineTable({"*=http://any", "default=http://d:1/", "s=http://s",
                                         "s/v=https://v/base", "s/v/i=http://i"});
  ASSERT_TRUE(table.ok()) << Message(table.status());
  EXPECT_EQ(Found(*table, {}), "http://d:1");
  EXPECT_EQ(Found(*table, {.service = "s"}), "http://s");
  EXPECT_EQ(Found(*table, {.service = "s", .version = "v"}), "https://v/base");
  EXPECT_EQ(Found(*table, {.service = "s", .version = "v", .instance = "i"}), "http://i");
  EXPECT_EQ(Found(*table, {.service = "s", .version = "v", .instance = "j"}), "https://v/base");
  EXPECT_EQ(Found(*table, {.service = "s", .version = "w"}), "http://s");
  EXPECT_EQ(Found(*table, {.service = "t"}), "http://any");
  EXPECT_EQ(Found(*table, {.version = "w"}), "http://d:1");
}

TEST(AppEngineTable, WithoutAnEntryTheMessageSaysWhatToSet) {
  const AppEngineTable table;
  EXPECT_TRUE(absl::IsNotFound(table.BaseUrl({.service = "s"}).status()));
  EXPECT_NE(Found(table, {.service = "s"}).find("\"s\": set app_engine.targets"),
            std::string::npos);
}

TEST(AppEngineTable, WhatIsNoEntryIsRefused) {
  for (const char* entry :
       {"", "s", "=http://h", "s=", "s=h", "s=ftp://h", "s=http://h?x", "s=http://h#x",
        "/s=http://h", "s/=http://h", "s//v=http://h", "s/v/i/x=http://h", "s=http://:80"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(AppEngineTable().Add(entry))) << entry;
  }
  EXPECT_TRUE(absl::IsAlreadyExists(MakeAppEngineTable({"s=http://a", "s=http://b"}).status()));
}

}  // namespace
}  // namespace sluice::dispatch
