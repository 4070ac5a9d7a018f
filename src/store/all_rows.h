// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole content of a store, to compare two of them. Test code only.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "store/store.h"

namespace sluice::store {

using Rows = std::map<std::string, std::string>;

/// Everything in the store.
inline Rows AllRows(const Store& store) {
  Rows rows;
  const auto is_end = store.Scan({.from = "", .to = std::string(64, '\xff'), .rows_max = 1u << 24},
                                 [&](std::string_view key, std::string_view value) {
                                   EXPECT_TRUE(rows.emplace(key, value).second);
                                   return true;
                                 });
  EXPECT_TRUE(is_end.ok()) << is_end.status();
  EXPECT_TRUE(is_end.ok() && *is_end);
  return rows;
}

}  // namespace sluice::store
