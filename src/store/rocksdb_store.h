// SPDX-License-Identifier: Apache-2.0
#pragma once

// The real store: one RocksDB with one column family and no write-ahead log,
// since the log above it is the truth. How it is tuned is in rocksdb_options.cc.
//
// Threading: as `Store` says; RocksDB adds two background threads of its own.
// Ownership: the folder is locked for as long as the store lives.
// Failure: final, as `Store` says. A full disk is RESOURCE_EXHAUSTED, and final too:
// whoever keeps a reserve must refuse work before the store meets the end.

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "store/store.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace sluice::store {

struct RocksDbOptions {
  std::string path;  // a folder whose parent exists
  /// Memory for blocks, filters and indexes. With the memtables, which take up to
  /// two write buffers and count in the same cache, this bounds the memory.
  std::uint64_t block_cache_bytes = 32u << 20;
  std::uint64_t write_buffer_bytes = 16u << 20;
  bool create_if_missing = true;
  /// Flush what is unflushed when the store is closed. Off, closing is quick and
  /// loses what a crash would lose; the log replays it.
  bool flush_on_close = false;
  /// The file system; null is the real one. Tests inject faults here.
  rocksdb::Env* env = nullptr;
};

/// Opens or creates the store.
/// Errors: NOT_FOUND when there is none and create_if_missing is off; FAILED_PRECONDITION
/// when another process or store has it open; DATA_LOSS; RESOURCE_EXHAUSTED; INTERNAL.
StatusOr<std::unique_ptr<Store>> OpenRocksDb(const RocksDbOptions& options);

}  // namespace sluice::store
