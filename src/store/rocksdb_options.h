// SPDX-License-Identifier: Apache-2.0
#pragma once

// How RocksDB is tuned for queues and tasks: the only place, shared by the store
// and the spike that measures the choices (bench/spikes/key_layout.cc).
// Pure function; any thread.

#include <rocksdb/options.h>

#include "store/rocksdb_store.h"

namespace sluice::store {

/// Options to open a database with; the write-ahead log is switched off per write.
[[nodiscard]] rocksdb::Options TunedOptions(const RocksDbOptions& options);

}  // namespace sluice::store
