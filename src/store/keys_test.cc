// SPDX-License-Identifier: Apache-2.0
// Proves that keys have the documented bytes, sort as their fields, decode to
// what was encoded, refuse everything else, and that ranges hold exactly the
// keys they name.
#include "store/keys.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace sluice::store {
namespace {

constexpr std::uint64_t kU64Max = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kI64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kI64Min = std::numeric_limits<std::int64_t>::min();

// Around every place where a byte carries or a sign changes.
const std::vector<std::uint64_t> kU64s = {0, 1, 255, 256, 65535, 65536, kU64Max - 1, kU64Max};
const std::vector<std::int64_t> kI64s = {kI64Min, kI64Min + 1, -256, -255, -1,
                                         0,       1,           255,  256,  kI64Max};
const std::vector<std::string> kIds = {"-", "a", "a-", "aa", "b", std::string(500, 'z')};

std::string Bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out.push_back(static_cast<char>(v));
  return out;
}

bool Contains(const KeyRange& range, const std::string& key) {
  return range.from <= key && key < range.to;
}

TEST(Keys, BytesAreAsTheFormatDocumentSays) {
  EXPECT_EQ(kMetaKey, "M");
  EXPECT_EQ(QueueKey("projects/p/locations/l/queues/q"), "Qprojects/p/locations/l/queues/q");
  EXPECT_EQ(ReservationKey("projects/p"), "Rprojects/p");
  EXPECT_EQ(BodyKey(1, 0x0203), Bytes({'B', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 3}));
  EXPECT_EQ(ProgressKey(1, 2), Bytes({'P', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(ScheduleKey(1, 5, 2), Bytes({'S',  0, 0, 0, 0, 0, 0, 0, 1,  //
                                         0x80, 0, 0, 0, 0, 0, 0, 5,     //
                                         0,    0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(ScheduleKey(0, -1, 0).substr(9, 8),
            Bytes({0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(NameKey(1, "id"), Bytes({'N', 0, 0, 0, 0, 0, 0, 0, 1, 'i', 'd'}));
  EXPECT_EQ(ExpiryKey(5, 1, "id"),
            Bytes({'X', 0x80, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 'i', 'd'}));
  EXPECT_EQ(DeadLetterKey(1, 2), Bytes({'D', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(DeadHeadKey(1, 2), Bytes({'H', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(DecodeDeadHeadKey(DeadHeadKey(1, 2))->sequence, 2);
  EXPECT_EQ(CountersKey(1), Bytes({'C', 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(Keys, OrderOfBytesIsOrderOfFields) {
  std::string before_body;
  std::string before_name;
  std::string before_schedule;
  for (const std::uint64_t incarnation : kU64s) {
    for (const std::uint64_t sequence : kU64s) {
      const std::string key = BodyKey(incarnation, sequence);
      EXPECT_LT(before_body, key);
      before_body = key;
    }
    for (const std::string& id : kIds) {
      const std::string key = NameKey(incarnation, id);
      EXPECT_LT(before_name, key);
      before_name = key;
    }
    for (const std::int64_t us : kI64s) {
      for (const std::uint64_t sequence : kU64s) {
        const std::string key = ScheduleKey(incarnation, us, sequence);
        EXPECT_LT(before_schedule, key);
        before_schedule = key;
      }
    }
  }
  std::string before_expiry;
  for (const std::int64_t us : kI64s) {
    for (const std::uint64_t incarnation : kU64s) {
      for (const std::string& id : kIds) {
        const std::string key = ExpiryKey(us, incarnation, id);
        EXPECT_LT(before_expiry, key);
        before_expiry = key;
      }
    }
  }
}

TEST(Keys, EveryKeyDecodesToItsFields) {
  for (const std::uint64_t incarnation : kU64s) {
    EXPECT_EQ(DecodeCountersKey(CountersKey(incarnation)).value(), incarnation);
    for (const std::uint64_t sequence : kU64s) {
      const std::string body_key = BodyKey(incarnation, sequence);
      const std::string progress_key = ProgressKey(incarnation, sequence);
      const auto body = DecodeBodyKey(body_key);
      const auto progress = DecodeProgressKey(progress_key);
      ASSERT_TRUE(body.ok() && progress.ok());
      EXPECT_EQ(body->incarnation, incarnation);
      EXPECT_EQ(body->sequence, sequence);
      EXPECT_EQ(progress->incarnation, incarnation);
      EXPECT_EQ(progress->sequence, sequence);
      for (const std::int64_t us : kI64s) {
        const auto schedule = DecodeScheduleKey(ScheduleKey(incarnation, us, sequence));
        ASSERT_TRUE(schedule.ok());
        EXPECT_EQ(schedule->incarnation, incarnation);
        EXPECT_EQ(schedule->schedule_us, us);
        EXPECT_EQ(schedule->sequence, sequence);
      }
    }
    for (const std::string& id : kIds) {
      const std::string name_key = NameKey(incarnation, id);
      const auto name = DecodeNameKey(name_key);
      ASSERT_TRUE(name.ok());
      EXPECT_EQ(name->incarnation, incarnation);
      EXPECT_EQ(name->task_id, id);
      for (const std::int64_t us : kI64s) {
        const std::string expiry_key = ExpiryKey(us, incarnation, id);
        const auto expiry = DecodeExpiryKey(expiry_key);
        ASSERT_TRUE(expiry.ok());
        EXPECT_EQ(expiry->expiry_us, us);
        EXPECT_EQ(expiry->incarnation, incarnation);
        EXPECT_EQ(expiry->task_id, id);
      }
    }
  }
  EXPECT_EQ(DecodeQueueKey("Qprojects/p").value(), "projects/p");
  EXPECT_EQ(DecodeReservationKey("Rprojects/p").value(), "projects/p");
}

/// One good key of a family and whether bytes decode as that family.
struct FamilyCase {
  std::string key;
  bool ends_in_name;
  std::function<Status(std::string_view)> decode;
};

std::vector<FamilyCase> Families() {
  return {
      {QueueKey("n"), true, [](std::string_view k) { return DecodeQueueKey(k).status(); }},
      {ReservationKey("n"), true,
       [](std::string_view k) { return DecodeReservationKey(k).status(); }},
      {BodyKey(1, 2), false, [](std::string_view k) { return DecodeBodyKey(k).status(); }},
      {ProgressKey(1, 2), false, [](std::string_view k) { return DecodeProgressKey(k).status(); }},
      {ScheduleKey(1, 2, 3), false,
       [](std::string_view k) { return DecodeScheduleKey(k).status(); }},
      {NameKey(1, "n"), true, [](std::string_view k) { return DecodeNameKey(k).status(); }},
      {ExpiryKey(1, 2, "n"), true, [](std::string_view k) { return DecodeExpiryKey(k).status(); }},
      {CountersKey(1), false, [](std::string_view k) { return DecodeCountersKey(k).status(); }},
  };
}

TEST(Keys, OtherTagsTruncationsAndWrongSizesAreDataLoss) {
  const auto families = Families();
  for (std::size_t i = 0; i < families.size(); ++i) {
    const FamilyCase& family = families[i];
    EXPECT_TRUE(family.decode(family.key).ok());
    for (std::size_t cut = 0; cut < family.key.size(); ++cut) {
      EXPECT_EQ(family.decode(family.key.substr(0, cut)).code(), absl::StatusCode::kDataLoss)
          << family.key << " cut at " << cut;
    }
    EXPECT_EQ(family.decode(family.key + "x").ok(), family.ends_in_name);
    for (std::size_t other = 0; other < families.size(); ++other) {
      if (other == i) continue;
      EXPECT_EQ(family.decode(families[other].key).code(), absl::StatusCode::kDataLoss);
    }
  }
}

TEST(Keys, DamageIsReportedWithTheKeyInHex) {
  const Status status = DecodeBodyKey("B\x01").status();
  EXPECT_EQ(Message(status), "store key 4201: not a key of family B: wrong size");
}

TEST(Keys, PrefixRangeHoldsExactlyTheKeysWithThePrefix) {
  const KeyRange range = PrefixRange(Bytes({'B', 0xFF, 0xFF}));
  EXPECT_TRUE(Contains(range, Bytes({'B', 0xFF, 0xFF})));
  EXPECT_TRUE(Contains(range, Bytes({'B', 0xFF, 0xFF, 0xFF, 0xFF})));
  EXPECT_FALSE(Contains(range, Bytes({'B', 0xFF, 0xFE, 0xFF})));
  EXPECT_FALSE(Contains(range, "C"));
  EXPECT_EQ(range.to, "C");
}

TEST(Keys, KeyAfterIsTheVeryNextKey) {
  EXPECT_LT(std::string("ab"), KeyAfter("ab"));
  EXPECT_EQ(KeyAfter("ab"), std::string("ab\0", 3));
}

TEST(Keys, IncarnationRangesHoldThatIncarnationAloneInEveryFamily) {
  for (const std::uint64_t incarnation : kU64s) {
    const auto ranges = IncarnationRanges(incarnation);
    const auto ranges_with = [&](const std::string& key) {
      int count = 0;
      for (const KeyRange& range : ranges) count += Contains(range, key) ? 1 : 0;
      return count;
    };
    for (const std::uint64_t other : kU64s) {
      const int expected = other == incarnation ? 1 : 0;
      for (const std::uint64_t sequence : kU64s) {
        EXPECT_EQ(ranges_with(BodyKey(other, sequence)), expected);
        EXPECT_EQ(ranges_with(ProgressKey(other, sequence)), expected);
        EXPECT_EQ(ranges_with(ScheduleKey(other, kI64Max, sequence)), expected);
        EXPECT_EQ(ranges_with(ScheduleKey(other, kI64Min, sequence)), expected);
      }
      for (const std::string& id : kIds) {
        EXPECT_EQ(ranges_with(NameKey(other, id)), expected);
        EXPECT_EQ(ranges_with(ExpiryKey(0, other, id)), 0);
      }
      EXPECT_EQ(ranges_with(CountersKey(other)), expected);
    }
    EXPECT_EQ(ranges_with(std::string(kMetaKey)), 0);
    EXPECT_EQ(ranges_with(QueueKey("projects/p")), 0);
    EXPECT_EQ(ranges_with(ReservationKey("projects/p")), 0);
  }
}

TEST(Keys, FamilyRangeHoldsTheFamilyAlone) {
  const KeyRange range = FamilyRange(Family::kBody);
  EXPECT_TRUE(Contains(range, BodyKey(0, 0)));
  EXPECT_TRUE(Contains(range, BodyKey(kU64Max, kU64Max)));
  EXPECT_FALSE(Contains(range, CountersKey(0)));
}

TEST(Keys, ScheduleRangeStartsAtItsBoundAndEndsBeforeItsTime) {
  const KeyRange range = ScheduleRange(7, -5, 3, 100);
  EXPECT_FALSE(Contains(range, ScheduleKey(7, -5, 2)));
  EXPECT_TRUE(Contains(range, ScheduleKey(7, -5, 3)));
  EXPECT_TRUE(Contains(range, ScheduleKey(7, 99, kU64Max)));
  EXPECT_FALSE(Contains(range, ScheduleKey(7, 100, 0)));
  EXPECT_FALSE(Contains(range, ScheduleKey(8, 0, 0)));
}

TEST(Keys, BodyRangeStartsAtItsSequenceAndStaysInTheIncarnation) {
  const KeyRange range = BodyRange(7, 3);
  EXPECT_FALSE(Contains(range, BodyKey(7, 2)));
  EXPECT_TRUE(Contains(range, BodyKey(7, 3)));
  EXPECT_TRUE(Contains(range, BodyKey(7, kU64Max)));
  EXPECT_FALSE(Contains(range, BodyKey(8, 0)));
}

TEST(Keys, ExpiryRangeOrdersByTimeOverAllIncarnations) {
  const KeyRange range = ExpiryRange(-1, 100);
  EXPECT_FALSE(Contains(range, ExpiryKey(-2, 7, "z")));
  EXPECT_TRUE(Contains(range, ExpiryKey(-1, 0, "a")));
  EXPECT_TRUE(Contains(range, ExpiryKey(99, kU64Max, "z")));
  EXPECT_FALSE(Contains(range, ExpiryKey(100, 0, "a")));
}

TEST(Keys, QueueRangeHoldsTheQueuesOfOneLocation) {
  const KeyRange range = QueueRange("projects/p/locations/l/queues/");
  EXPECT_TRUE(Contains(range, QueueKey("projects/p/locations/l/queues/a")));
  EXPECT_FALSE(Contains(range, QueueKey("projects/p/locations/l2/queues/a")));
  EXPECT_FALSE(Contains(range, ReservationKey("projects/p/locations/l/queues/a")));
}

}  // namespace
}  // namespace sluice::store
