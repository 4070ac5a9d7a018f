// SPDX-License-Identifier: Apache-2.0
// Proves that a batch gives back its changes in order, that every truncation
// inside a change is reported, and that no damaged byte can crash a reader or
// make it show bytes from outside the batch.
#include "store/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sluice::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Writes each change as a line, and counts the bytes it was shown.
class Transcript : public Batch::Visitor {
 public:
  void Put(std::string_view key, std::string_view value) override { Add("put", key, value); }
  void Delete(std::string_view key) override { Add("delete", key, ""); }
  void DeleteRange(std::string_view from, std::string_view to) override { Add("range", from, to); }

  std::vector<std::string> lines;
  std::size_t bytes_shown = 0;

 private:
  void Add(std::string_view what, std::string_view a, std::string_view b) {
    lines.push_back(fmt::format("{} {} {}", what, a, b));
    bytes_shown += a.size() + b.size();
  }
};

Batch Example() {
  Batch batch;
  batch.Put("key", "value");
  batch.Delete("gone");
  batch.DeleteRange("a", "m");
  batch.Put("", "");
  batch.Put(std::string(200, 'k'), std::string(300, 'v'));  // lengths of two bytes
  return batch;
}

TEST(Batch, ChangesComeBackInTheOrderTheyWereAdded) {
  Batch batch;
  batch.Put("b", "1");
  batch.Delete("b");
  batch.DeleteRange("a", "c");
  batch.Put("b", "2");
  Transcript seen;
  ASSERT_TRUE(Batch(batch.bytes()).Visit(seen).ok());
  EXPECT_THAT(seen.lines, ElementsAre("put b 1", "delete b ", "range a c", "put b 2"));
}

TEST(Batch, EncodingIsWhatTheFormatSays) {
  Batch batch;
  batch.Put("k", "vw");
  batch.Delete("d");
  batch.DeleteRange("a", "b");
  EXPECT_EQ(batch.bytes(),
            "\x01\x01k\x02vw\x02\x01"
            "d\x03\x01"
            "a\x01"
            "b");
}

TEST(Batch, EmptyBatchVisitsNothing) {
  Transcript seen;
  EXPECT_TRUE(Batch().Visit(seen).ok());
  EXPECT_TRUE(Batch().empty());
  EXPECT_TRUE(seen.lines.empty());
}

TEST(Batch, EmptyRangeIsNoChange) {
  Batch batch;
  batch.DeleteRange("b", "b");
  batch.DeleteRange("c", "b");
  EXPECT_TRUE(batch.empty());
}

TEST(Batch, ClearedBatchIsEmptyAgain) {
  Batch batch = Example();
  batch.Clear();
  EXPECT_TRUE(batch.empty());
}

TEST(Batch, EveryTruncationInsideAChangeIsReportedAfterTheChangesBeforeIt) {
  const std::string whole = Example().bytes();
  Transcript all;
  ASSERT_TRUE(Example().Visit(all).ok());

  // Between two changes a shorter batch is a batch; the frame around it knows its length.
  int cuts_at_a_boundary = 0;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Transcript seen;
    const Status status = Batch(whole.substr(0, cut)).Visit(seen);
    ASSERT_LT(seen.lines.size(), all.lines.size());
    EXPECT_TRUE(std::equal(seen.lines.begin(), seen.lines.end(), all.lines.begin()));
    if (status.ok()) {
      ++cuts_at_a_boundary;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << "cut at " << cut;
    }
  }
  EXPECT_EQ(cuts_at_a_boundary, 5);  // before each of the five changes
}

TEST(Batch, EveryFlippedByteIsSurvivedAndShowsOnlyBytesOfTheBatch) {
  const std::string whole = Example().bytes();
  int reported = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int mask = 1; mask < 256; ++mask) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      Transcript seen;
      const Status status = Batch(damaged).Visit(seen);
      EXPECT_LE(seen.bytes_shown, damaged.size());
      if (status.ok()) continue;  // the damage fell into a key or value
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      ++reported;
    }
  }
  EXPECT_GT(reported, 0);
}

TEST(Batch, LengthBeyondTheEndIsReportedWithoutOverflow) {
  std::string bytes = "\x02";
  bytes += std::string(9, '\xff') + '\x01';  // the largest 64-bit length
  bytes += "abc";
  Transcript seen;
  const Status status = Batch(bytes).Visit(seen);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(seen.lines.empty());
}

TEST(Batch, UnknownTagIsNamedWithItsPlace) {
  Batch good;
  good.Delete("k");
  Transcript seen;
  const Status status = Batch(good.bytes() + '\x09').Visit(seen);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("byte 3 of 4 has the unknown tag 9"));
  EXPECT_THAT(seen.lines, ElementsAre("delete k "));
}

TEST(Batch, StoredEmptyRangeIsDamage) {
  Transcript seen;
  EXPECT_EQ(Batch("\x03\x01"
                  "b\x01"
                  "a")
                .Visit(seen)
                .code(),
            absl::StatusCode::kDataLoss);
  EXPECT_TRUE(seen.lines.empty());
}

}  // namespace
}  // namespace sluice::store
