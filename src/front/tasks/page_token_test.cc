// SPDX-License-Identifier: Apache-2.0
#include "front/tasks/page_token.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice::front {
namespace {

const Time kIssued = absl::FromUnixSeconds(1'800'000'000);
constexpr Listing kListing{"ListQueues", "projects/p/locations/l", "state=PAUSED"};
const std::string kCursor("queue\0id", 8);

TEST(PageToken, ContinuesWhereItWasMade) {
  const std::string token = MakePageToken(kListing, kCursor, kIssued);
  const auto cursor = ReadPageToken(kListing, token, kIssued + absl::Minutes(1));
  ASSERT_TRUE(cursor.ok());
  EXPECT_EQ(*cursor, kCursor);
}

TEST(PageToken, CanStandInAUrlUnescaped) {
  const std::string token = MakePageToken(kListing, std::string(300, '\xFB'), kIssued);
  EXPECT_EQ(
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);
}

TEST(PageToken, TheEmptyTokenIsTheFirstPage) {
  EXPECT_EQ(ReadPageToken(kListing, "", kIssued).value(), "");
}

TEST(PageToken, BelongsToOneListing) {
  const std::string token = MakePageToken(kListing, kCursor, kIssued);
  for (const Listing& other :
       {Listing{"ListTasks", kListing.parent, kListing.filter},
        Listing{kListing.method, "projects/p/locations/m", kListing.filter},
        Listing{kListing.method, kListing.parent, ""},
        Listing{kListing.method, "projects/p/locations/lstate=PAUSED", ""}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadPageToken(other, token, kIssued).status()));
  }
}

TEST(PageToken, LivesTwoHours) {
  const std::string token = MakePageToken(kListing, kCursor, kIssued);
  EXPECT_TRUE(ReadPageToken(kListing, token, kIssued + kPageTokenLife).ok());
  const auto late =
      ReadPageToken(kListing, token, kIssued + kPageTokenLife + absl::Microseconds(1));
  EXPECT_TRUE(absl::IsInvalidArgument(late.status()));
  // The clock was set back.
  EXPECT_TRUE(ReadPageToken(kListing, token, kIssued - absl::Hours(5)).ok());
}

TEST(PageToken, AnyChangedCharacterIsNoticed) {
  const std::string token = MakePageToken(kListing, kCursor, kIssued);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string garbled = token;
    // The last character's unused low bits may be dropped by the decoder; this
    // flips its highest.
    garbled[i] = garbled[i] == 'A' ? 'g' : 'A';
    EXPECT_FALSE(ReadPageToken(kListing, garbled, kIssued).ok()) << i;
    EXPECT_FALSE(ReadPageToken(kListing, token.substr(0, i + (i == 0 ? 1 : 0)), kIssued).ok()) << i;
  }
  EXPECT_FALSE(ReadPageToken(kListing, token + "AAAA", kIssued).ok());
  EXPECT_FALSE(ReadPageToken(kListing, "hello", kIssued).ok());
  EXPECT_FALSE(ReadPageToken(kListing, std::string(1'000'000, 'A'), kIssued).ok());
}

TEST(PageToken, RandomBytesNeverCrash) {
  constexpr int kRounds = 20'000;
  std::mt19937 random(11);  // NOLINT: a fixed seed makes failures repeat
  const std::string alphabet = "ABCabc019-_=+/ ";
  for (int round = 0; round < kRounds; ++round) {
    std::string token;
    for (std::size_t n = 1 + random() % 80; n > 0; --n) {
      token += round % 2 == 0 ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
    }
    EXPECT_FALSE(ReadPageToken(kListing, token, kIssued).ok());
  }
}

}  // namespace
}  // namespace sluice::front
