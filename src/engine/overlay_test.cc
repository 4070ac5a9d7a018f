// SPDX-License-Identifier: Apache-2.0
// Proves that the overlay shows the newest change of a key until the store has
// it, writes each key once a frame, and forgets exactly what was applied.
#include "engine/overlay.h"

#include <gtest/gtest.h>

#include "store/model_store.h"

namespace sluice::engine {
namespace {

std::string ValueOf(const Overlay& overlay, std::string_view key) {
  const std::optional<std::string>* found = overlay.Find(key);
  if (found == nullptr) return "(unknown)";
  return found->has_value() ? **found : "(deleted)";
}

std::string InStore(const store::Store& store, std::string_view key) {
  std::string value;
  const auto lookup = store.Get(key, store::ReadMode::kBlocking, &value);
  return lookup.ok() && *lookup == store::Lookup::kFound ? value : "(absent)";
}

TEST(Overlay, ALaterChangeInTheSameFrameReplacesTheEarlierOne) {
  Overlay overlay;
  overlay.Put("a", "1");
  overlay.Put("a", "2");
  overlay.Put("b", "1");
  overlay.Delete("b");
  const store::Batch batch = overlay.CloseFrame();
  store::ModelStore store;
  ASSERT_TRUE(store.Apply(batch).ok());
  EXPECT_EQ(InStore(store, "a"), "2");
  EXPECT_EQ(InStore(store, "b"), "(absent)");
  EXPECT_EQ(batch.bytes().find('1'), std::string::npos) << "the replaced value is not written";
}

TEST(Overlay, AKeyChangedAgainStaysUntilTheLastFrameIsApplied) {
  Overlay overlay;
  overlay.Put("a", "1");
  overlay.CloseFrame();
  overlay.Put("a", "2");
  overlay.Put("b", "2");
  overlay.CloseFrame();
  overlay.Applied(1);
  EXPECT_EQ(ValueOf(overlay, "a"), "2");
  overlay.Applied(2);
  EXPECT_EQ(ValueOf(overlay, "a"), "(unknown)");
  EXPECT_EQ(overlay.key_count(), 0u);
  EXPECT_EQ(overlay.bytes(), 0u);
}

TEST(Overlay, DeletionsAreShownAndCaptured) {
  Overlay overlay;
  overlay.Put("k1", "x");
  overlay.Delete("k2");
  overlay.Put("z", "outside");
  Capture capture;
  overlay.CaptureRange({"k", "l"}, &capture);
  ASSERT_EQ(capture.size(), 2u);
  EXPECT_EQ(capture["k1"], "x");
  EXPECT_EQ(capture["k2"], std::nullopt);
}

TEST(Overlay, ARangeIsErasedAfterTheKeysOfItsFrame) {
  Overlay overlay;
  overlay.Put("q1", "written before its queue was deleted");
  overlay.DeleteRange({"q", "r"});
  store::ModelStore store;
  ASSERT_TRUE(store.Apply(overlay.CloseFrame()).ok());
  EXPECT_EQ(InStore(store, "q1"), "(absent)");
}

TEST(Overlay, OpenBytesFollowTheOpenFrame) {
  Overlay overlay;
  EXPECT_TRUE(overlay.is_open_frame_empty());
  overlay.Put("a", std::string(1000, 'x'));
  EXPECT_GE(overlay.open_frame_bytes(), 1000u);
  overlay.Put("a", "");
  EXPECT_LT(overlay.open_frame_bytes(), 100u);
  overlay.CloseFrame();
  EXPECT_EQ(overlay.open_frame_bytes(), 0u);
  EXPECT_TRUE(overlay.is_open_frame_empty());
}

}  // namespace
}  // namespace sluice::engine
