// SPDX-License-Identifier: Apache-2.0
// Section 1.9.
#include "sluice/sink/task_id.h"

#include <gtest/gtest.h>

namespace sluice::sink {
namespace {

TEST(TaskIdHasher, IsTheHexSha256OfTheKeyAlsoWhenReused) {
  TaskIdHasher hasher;
  const std::string expected = "0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057";
  EXPECT_EQ(hasher.IdOf("order-1"), expected);
  EXPECT_NE(hasher.IdOf("order-2"), expected);
  EXPECT_EQ(hasher.IdOf("order-1"), expected);
  std::string name = "q/tasks/";
  hasher.AppendId("order-1", name);
  EXPECT_EQ(name, "q/tasks/" + expected);
}

}  // namespace
}  // namespace sluice::sink
