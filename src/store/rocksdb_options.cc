// SPDX-License-Identifier: Apache-2.0
#include "store/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>

namespace sluice::store {
namespace {

constexpr int kWriteBuffers = 2;
constexpr double kBloomBitsPerKey = 10;
/// A file is compacted soon when three quarters of this many keys in a row are
/// deletions: what the drain of a large backlog leaves, so that scans do not cross
/// it for long. Steady work, where tasks come as they go, stays below; to compact
/// for it cost a fifth of all CPU (ADR 0004).
constexpr std::size_t kDeletionWindow = 65'536;
constexpr std::size_t kDeletionTrigger = kDeletionWindow / 4 * 3;

rocksdb::BlockBasedTableOptions TableOptions(const RocksDbOptions& options) {
  rocksdb::BlockBasedTableOptions table;
  // Memtables are charged to the cache, with room of their own on top, so that
  // they never squeeze the blocks out and the sum still has one bound.
  table.block_cache =
      rocksdb::NewLRUCache(options.block_cache_bytes + kWriteBuffers * options.write_buffer_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.whole_key_filtering = true;
  // Filters and indexes live in the cache in small parts: ten million tasks must
  // not need memory in proportion.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_top_level_index_and_filter = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.optimize_filters_for_memory = true;
  table.format_version = 5;
  return table;
}

}  // namespace

rocksdb::Options TunedOptions(const RocksDbOptions& options) {
  const rocksdb::BlockBasedTableOptions table = TableOptions(options);
  rocksdb::Options out;
  if (options.env != nullptr) out.env = options.env;
  out.create_if_missing = options.create_if_missing;
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  out.compression = rocksdb::kNoCompression;

  out.write_buffer_size = options.write_buffer_bytes;
  out.max_write_buffer_number = kWriteBuffers;
  out.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(0, table.block_cache);
  out.max_background_jobs = 2;
  out.level_compaction_dynamic_level_bytes = true;
  // Tasks that come and go mostly die in level 0: waiting for twice the usual
  // number of files writes a quarter less (ADR 0004).
  out.level0_file_num_compaction_trigger = 8;
  out.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(kDeletionWindow, kDeletionTrigger));

  // One thread applies. Insert hints would save a tenth of its CPU, but RocksDB
  // 7.8 takes a hint for the memtable's range deletions too, where it is wrong:
  // rocksdb_store_model_test ended in its assertion.
  out.allow_concurrent_memtable_write = false;
  out.enable_write_thread_adaptive_yield = false;

  out.avoid_flush_during_shutdown = !options.flush_on_close;
  out.max_bgerror_resume_count = 0;  // an error is final

  // A quick start and little noise. Each opening thread costs a clone even when
  // there is no table to open.
  out.max_file_opening_threads = 1;
  out.manifest_preallocation_size = 64u << 10;
  out.skip_stats_update_on_db_open = true;
  out.skip_checking_sst_file_sizes_on_db_open = true;
  out.stats_dump_period_sec = 0;
  out.stats_persist_period_sec = 0;
  out.info_log_level = rocksdb::WARN_LEVEL;
  out.keep_log_file_num = 2;
  out.max_log_file_size = 1u << 20;
  return out;
}

}  // namespace sluice::store
