// SPDX-License-Identifier: Apache-2.0
#pragma once

// RocksDB's statuses as ours: the one place where its codes are read.
// Pure function; any thread.

#include <rocksdb/status.h>

#include <string_view>

#include "base/status.h"

namespace sluice::store {

/// `what` says what was tried and on which store, to begin the message.
[[nodiscard]] Status FromRocksDb(const rocksdb::Status& status, std::string_view what);

}  // namespace sluice::store
