// SPDX-License-Identifier: Apache-2.0
#include "core/messages/sequence_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace sluice::core {
namespace {

TEST(SequenceSet, RangesThatTouchBecomeOne) {
  SequenceSet set;
  EXPECT_EQ(set.Add({5, 5}), (SequenceRange{5, 5}));
  EXPECT_EQ(set.Add({7, 9}), (SequenceRange{7, 9}));
  EXPECT_EQ(set.range_count(), 2u);
  EXPECT_EQ(set.Add({6, 6}), (SequenceRange{5, 9}));
  EXPECT_EQ(set.range_count(), 1u);
  EXPECT_EQ(set.Add({1, 20}), (SequenceRange{1, 20}));
  EXPECT_EQ(set.Add({3, 4}), (SequenceRange{1, 20}));
  EXPECT_EQ(set.NextMissing(1), 21u);
}

TEST(SequenceSet, AgreesWithAPlainSet) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    SequenceSet set;
    std::set<MessageSequence> plain;
    for (int i = 0; i < 60; ++i) {
      const MessageSequence first = 1 + random() % 100;
      const MessageSequence last = first + random() % 4;
      const SequenceRange merged = set.Add({first, last});
      for (MessageSequence s = first; s <= last; ++s) plain.insert(s);
      for (MessageSequence s = merged.first; s <= merged.last; ++s) ASSERT_TRUE(plain.contains(s));
      ASSERT_FALSE(plain.contains(merged.first - 1)) << "seed " << seed;
      ASSERT_FALSE(plain.contains(merged.last + 1)) << "seed " << seed;
    }
    std::set<MessageSequence> listed;
    for (const SequenceRange& range : set.Ranges()) {
      for (MessageSequence s = range.first; s <= range.last; ++s) listed.insert(s);
    }
    ASSERT_EQ(listed, plain) << "seed " << seed;
    for (MessageSequence s = 1; s < 110; ++s) ASSERT_EQ(set.Contains(s), plain.contains(s));
  }
}

}  // namespace
}  // namespace sluice::core
