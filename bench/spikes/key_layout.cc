// SPDX-License-Identifier: Apache-2.0
// Spike: what a task costs in RocksDB, by the key its body lies under, and which
// memtable options help. The answers are in docs/adr/0004.
//
//   sluice_spike_key_layout layout DIR TASKS [sequence|generated|name] [no-collector]
//   sluice_spike_key_layout memtable|churn DIR TASKS [ROUNDS [PART OF A VARIANT'S NAME]]
//
// `sequence`: body under (incarnation, sequence), name index, schedule index.
// `generated`: the same without a name index, for ids the service makes.
// `name`: body under (incarnation, name), schedule index that holds the name.
// `churn` lets each task live until 20,000 later ones were created: put, progress
// put, delete.
// DIR must be on the disk to be measured, and is emptied. CPU is that of the whole
// process, background flushes and compactions included, once they are idle.

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_batch.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "store/keys.h"
#include "store/rocksdb_options.h"

namespace sluice::store {
namespace {

constexpr std::uint64_t kIncarnation = 7;
constexpr std::size_t kBodyBytes = 1024;
constexpr std::size_t kNameBytes = 40;
constexpr std::size_t kNameEntryBytes = 9;
constexpr std::uint64_t kBatchTasks = 20;
constexpr std::size_t kWindowRows = 1024;

enum class Layout { kSequence, kGenerated, kName };

void Must(const rocksdb::Status& status) { SLUICE_CHECK(status.ok(), status.ToString()); }

double CpuSeconds(int who) {
  rusage usage{};
  SLUICE_CHECK(::getrusage(who, &usage) == 0, "getrusage");
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t BytesWritten() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

/// Wall, CPU and bytes since it was made.
class Meter {
 public:
  /// Prints them for each of `count` things.
  void Print(std::string_view what, std::uint64_t count) const {
    const double wall = std::chrono::duration<double>(Clock::now() - wall_).count();
    const double per = 1e6 / static_cast<double>(count);
    fmt::print(
        "  {:<44} wall {:8.2f}  cpu {:8.2f}  caller cpu {:8.2f} us each, {:6.0f} B written each\n",
        what, wall * per, (CpuSeconds(RUSAGE_SELF) - cpu_) * per,
        (CpuSeconds(RUSAGE_THREAD) - caller_) * per,
        static_cast<double>(BytesWritten() - written_) / static_cast<double>(count));
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point wall_ = Clock::now();
  const double cpu_ = CpuSeconds(RUSAGE_SELF);
  const double caller_ = CpuSeconds(RUSAGE_THREAD);
  const std::uint64_t written_ = BytesWritten();
};

std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::string NameOf(std::uint64_t i) {
  std::string name = fmt::format("{:016x}{:016x}", Mix(i), Mix(~i));
  name.append(kNameBytes - name.size(), 'n');
  return name;
}

/// One task a millisecond, up to ten seconds late: mostly, but not quite, in order.
std::int64_t ScheduleOf(std::uint64_t i) {
  return static_cast<std::int64_t>(i * 1000 + Mix(i ^ 0x5A5A) % 10'000'000);
}

class Bodies {
 public:
  Bodies() {
    std::mt19937_64 rng(1);
    for (std::size_t i = 0; i < kPool; ++i) pool_.push_back(static_cast<char>('!' + rng() % 90));
  }
  rocksdb::Slice Of(std::uint64_t i) const {
    return {pool_.data() + Mix(i) % (kPool - kBodyBytes), kBodyBytes};
  }

 private:
  static constexpr std::size_t kPool = 8u << 20;
  std::string pool_;
};

void PutTask(rocksdb::WriteBatch* batch, Layout layout, std::uint64_t i,
             const rocksdb::Slice& body) {
  static const std::string kEntry(kNameEntryBytes, 'e');
  if (layout == Layout::kName) {
    const std::string name = NameOf(i);
    Must(batch->Put(NameKey(kIncarnation, name), body));
    Must(batch->Put(ScheduleKey(kIncarnation, ScheduleOf(i), i), name));
    return;
  }
  Must(batch->Put(BodyKey(kIncarnation, i), body));
  Must(batch->Put(ScheduleKey(kIncarnation, ScheduleOf(i), i), ""));
  if (layout == Layout::kSequence) Must(batch->Put(NameKey(kIncarnation, NameOf(i)), kEntry));
}

void DeleteTask(rocksdb::WriteBatch* batch, Layout layout, std::uint64_t i) {
  if (layout != Layout::kName) Must(batch->Delete(BodyKey(kIncarnation, i)));
  Must(batch->Delete(ScheduleKey(kIncarnation, ScheduleOf(i), i)));
  if (layout != Layout::kGenerated) Must(batch->Delete(NameKey(kIncarnation, NameOf(i))));
}

class Database {
 public:
  Database(const std::string& dir, const rocksdb::Options& options) {
    rocksdb::DB* raw = nullptr;
    Must(rocksdb::DB::Open(options, dir, &raw));
    db_.reset(raw);
  }

  rocksdb::DB* operator->() { return db_.get(); }

  void Write(rocksdb::WriteBatch* batch) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    Must(db_->Write(write, batch));
  }

  void FlushAndSettle() {
    Must(db_->Flush(rocksdb::FlushOptions()));
    const auto number = [&](const std::string& property) {
      std::uint64_t value = 0;
      return db_->GetIntProperty(property, &value) ? value : 0;
    };
    while (number(rocksdb::DB::Properties::kCompactionPending) != 0 ||
           number(rocksdb::DB::Properties::kNumRunningCompactions) != 0 ||
           number(rocksdb::DB::Properties::kNumRunningFlushes) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  std::string Get(const std::string& key) {
    std::string value;
    Must(db_->Get(rocksdb::ReadOptions(), key, &value));
    return value;
  }

  /// Up to kWindowRows rows of a range.
  std::vector<std::pair<std::string, std::string>> Window(const KeyRange& range) {
    const rocksdb::Slice upper(range.to);
    rocksdb::ReadOptions read;
    read.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read));
    std::vector<std::pair<std::string, std::string>> rows;
    for (it->Seek(range.from); it->Valid() && rows.size() < kWindowRows; it->Next()) {
      rows.emplace_back(it->key().ToString(), it->value().ToString());
    }
    Must(it->status());
    return rows;
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
};

void Create(Database& db, Layout layout, std::uint64_t tasks, const Bodies& bodies) {
  rocksdb::WriteBatch batch;
  for (std::uint64_t i = 0; i < tasks; ++i) {
    PutTask(&batch, layout, i, bodies.Of(i));
    if ((i + 1) % kBatchTasks == 0) {
      db.Write(&batch);
      batch.Clear();
    }
  }
  db.Write(&batch);
}

void Delete(Database& db, Layout layout, std::uint64_t count) {
  rocksdb::WriteBatch batch;
  for (std::uint64_t i = 0; i < count; ++i) {
    DeleteTask(&batch, layout, i);
    if ((i + 1) % kBatchTasks == 0) {
      db.Write(&batch);
      batch.Clear();
    }
  }
  db.Write(&batch);
}

/// Wall and the caller's own CPU, which other programs disturb less.
struct Taken {
  double wall_ms = 0;
  double cpu_ms = 0;
};

Taken Take(const std::function<void()>& work) {
  const auto wall = std::chrono::steady_clock::now();
  const double cpu = CpuSeconds(RUSAGE_THREAD);
  work();
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - wall;
  return {.wall_ms = passed.count(), .cpu_ms = (CpuSeconds(RUSAGE_THREAD) - cpu) * 1e3};
}

void ReadByName(Database& db, Layout layout, std::uint64_t tasks) {
  constexpr std::uint64_t kReads = 20'000;
  const Meter meter;
  std::vector<double> each;
  for (std::uint64_t n = 0; n < kReads; ++n) {
    const std::uint64_t i = Mix(n) % tasks;
    each.push_back(Take([&] {
                     if (layout != Layout::kGenerated) {
                       SLUICE_CHECK(!db.Get(NameKey(kIncarnation, NameOf(i))).empty(), "name");
                     }
                     if (layout != Layout::kName) {
                       SLUICE_CHECK(db.Get(BodyKey(kIncarnation, i)).size() == kBodyBytes, "body");
                     }
                   }).wall_ms);
  }
  std::sort(each.begin(), each.end());
  meter.Print(fmt::format("read by name (p50 {:.1f} us, p99 {:.1f} us)", each[kReads / 2] * 1e3,
                          each[kReads * 99 / 100] * 1e3),
              kReads);
}

/// Walks windows of due tasks from a remembered bound, and loads their bodies.
void ScanWindows(Database& db, Layout layout, std::uint64_t tasks) {
  constexpr int kWindows = 50;
  KeyRange range = ScheduleRange(kIncarnation, ScheduleOf(tasks / 2), 0, INT64_MAX);
  std::vector<std::vector<std::pair<std::string, std::string>>> windows;
  {
    const Meter meter;
    for (int n = 0; n < kWindows; ++n) {
      windows.push_back(db.Window(range));
      range.from = KeyAfter(windows.back().back().first);
    }
    meter.Print("scan of a window of 1024 due entries", kWindows);
  }
  const Meter meter;
  for (const auto& window : windows) {
    for (const auto& [key, value] : window) {
      const std::uint64_t sequence = DecodeScheduleKey(key)->sequence;
      const std::string body = db.Get(layout == Layout::kName ? NameKey(kIncarnation, value)
                                                              : BodyKey(kIncarnation, sequence));
      SLUICE_CHECK(body.size() == kBodyBytes, "body");
    }
  }
  meter.Print("load of one body of such a window", kWindows * kWindowRows);
}

/// The earliest time of a task from `first` on, as the core remembers it.
std::int64_t EarliestFrom(std::uint64_t first) {
  std::int64_t earliest = INT64_MAX;
  for (std::uint64_t i = first; i < first + 20'000; ++i) {
    earliest = std::min(earliest, ScheduleOf(i));
  }
  return earliest;
}

void ScanOverDeleted(Database& db, std::string_view when, std::uint64_t deleted) {
  const auto scan = [&](std::int64_t from_us) {
    return db.Window(ScheduleRange(kIncarnation, from_us, 0, INT64_MAX)).size();
  };
  const std::int64_t bound = EarliestFrom(deleted);
  std::size_t rows = 0;
  for (int round = 1; round <= 2; ++round) {
    const Taken start = Take([&] { rows = scan(INT64_MIN); });
    const Taken near = Take([&] { rows = scan(bound); });
    fmt::print(
        "  window over {} deleted, {:<26} from start {:.2f} ms (cpu {:.2f}), "
        "from bound {:.3f} ms (cpu {:.3f}), {} rows\n",
        deleted, fmt::format("{} ({}):", when, round), start.wall_ms, start.cpu_ms, near.wall_ms,
        near.cpu_ms, rows);
  }
}

void RunLayout(const std::string& dir, std::uint64_t tasks, Layout layout, bool is_collecting) {
  std::filesystem::remove_all(dir);
  rocksdb::Options options = TunedOptions({.path = dir});
  if (!is_collecting) options.table_properties_collector_factories.clear();
  const Bodies bodies;
  const std::uint64_t deleted = std::min<std::uint64_t>(tasks / 2, 500'000);
  {
    Database db(dir, options);
    {
      const Meter meter;
      Create(db, layout, tasks, bodies);
      db.FlushAndSettle();
      meter.Print("create, batches of 20", tasks);
    }
    std::uint64_t sst = 0;
    db->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &sst);
    fmt::print("  {:<44} {:.0f} B a task\n", "on disk",
               static_cast<double>(sst) / static_cast<double>(tasks));
    ReadByName(db, layout, tasks);
    ScanWindows(db, layout, tasks);
  }
  for (int round = 0; round < 3; ++round) {
    std::unique_ptr<Database> db;
    const Taken open =
        Take([&] { db = std::make_unique<Database>(dir, TunedOptions({.path = dir})); });
    const Taken first = Take([&] {
      SLUICE_CHECK(db->Window(ScheduleRange(kIncarnation, INT64_MIN, 0, INT64_MAX)).size() != 0,
                   "the schedule is empty");
    });
    fmt::print("  reopen {:.1f} ms (cpu {:.1f}), first window of 1024 due entries {:.2f} ms\n",
               open.wall_ms, open.cpu_ms, first.wall_ms);
  }
  Database db(dir, options);
  {
    const Meter meter;
    Delete(db, layout, deleted);
    meter.Print("delete, batches of 20", deleted);
  }
  ScanOverDeleted(db, "right after", deleted);
  {
    const Meter meter;
    db.FlushAndSettle();
    meter.Print("its last flush and compactions", deleted);
  }
  ScanOverDeleted(db, "after background work", deleted);
}

struct Variant {
  std::string name;
  std::function<void(rocksdb::Options*)> change;
};

void WriteBuffer(rocksdb::Options* options, std::size_t bytes) {
  options->write_buffer_size = bytes;
}

void InsertHint(rocksdb::Options* options, std::size_t prefix_bytes) {
  options->memtable_insert_with_hint_prefix_extractor.reset(
      rocksdb::NewFixedPrefixTransform(prefix_bytes));
}

std::vector<Variant> MemtableVariants() {
  return {
      {"as the store is tuned", [](rocksdb::Options*) {}},
      {"insert hint by tag", [](auto* o) { InsertHint(o, 1); }},
      {"insert hint by tag and incarnation", [](auto* o) { InsertHint(o, 9); }},
      {"concurrent memtable writes", [](auto* o) { o->allow_concurrent_memtable_write = true; }},
      {"memtable bloom filter",
       [](auto* o) {
         o->memtable_whole_key_filtering = true;
         o->memtable_prefix_bloom_size_ratio = 0.05;
       }},
      {"vector memtable",
       [](auto* o) { o->memtable_factory = std::make_shared<rocksdb::VectorRepFactory>(); }},
      {"in-place updates", [](auto* o) { o->inplace_update_support = true; }},
      {"arena blocks of 1 MiB", [](auto* o) { o->arena_block_size = 1u << 20; }},
      {"write buffer 8 MiB", [](auto* o) { WriteBuffer(o, 8u << 20); }},
      {"write buffer 32 MiB", [](auto* o) { WriteBuffer(o, 32u << 20); }},
      {"write buffer 64 MiB", [](auto* o) { WriteBuffer(o, 64u << 20); }},
      {"LZ4", [](auto* o) { o->compression = rocksdb::kLZ4Compression; }},
      {"base level 64 MiB", [](auto* o) { o->max_bytes_for_level_base = 64u << 20; }},
      {"base level 64 MiB, files 16 MiB",
       [](auto* o) {
         o->max_bytes_for_level_base = 64u << 20;
         o->target_file_size_base = 16u << 20;
       }},
      {"static level sizes", [](auto* o) { o->level_compaction_dynamic_level_bytes = false; }},
  };
}

std::vector<Variant> ChurnVariants() {
  return {
      {"as the store is tuned", [](rocksdb::Options*) {}},
      {"no compaction on deletion",
       [](auto* o) { o->table_properties_collector_factories.clear(); }},
      {"compaction on 2048 deletions in 4096",
       [](auto* o) {
         o->table_properties_collector_factories = {
             rocksdb::NewCompactOnDeletionCollectorFactory(4096, 2048)};
       }},
      {"4 files in level 0", [](auto* o) { o->level0_file_num_compaction_trigger = 4; }},
      {"write buffer 32 MiB", [](auto* o) { WriteBuffer(o, 32u << 20); }},
      {"write buffer 64 MiB", [](auto* o) { WriteBuffer(o, 64u << 20); }},
  };
}

void Churn(Database& db, std::uint64_t tasks, const Bodies& bodies) {
  constexpr std::uint64_t kLife = 20'000;
  const std::string progress(60, 'p');
  rocksdb::WriteBatch batch;
  for (std::uint64_t i = 0; i < tasks + kLife; ++i) {
    if (i < tasks) PutTask(&batch, Layout::kSequence, i, bodies.Of(i));
    if (i >= kLife) {
      const std::uint64_t old = i - kLife;
      Must(batch.Put(ProgressKey(kIncarnation, old), progress));
      // The outcome comes in a later batch than the start of the attempt.
      db.Write(&batch);
      batch.Clear();
      Must(batch.Delete(ProgressKey(kIncarnation, old)));
      DeleteTask(&batch, Layout::kSequence, old);
    }
    if ((i + 1) % kBatchTasks == 0) {
      db.Write(&batch);
      batch.Clear();
    }
  }
  db.Write(&batch);
}

/// Rounds are interleaved, so that noise of the machine falls on all variants.
void RunVariants(const std::string& dir, std::uint64_t tasks, bool is_churning, int rounds,
                 std::string_view only) {
  const Bodies bodies;
  for (int round = 0; round < rounds; ++round) {
    for (const Variant& variant : is_churning ? ChurnVariants() : MemtableVariants()) {
      if (variant.name.find(only) == std::string::npos) continue;
      std::filesystem::remove_all(dir);
      rocksdb::Options options = TunedOptions({.path = dir});
      variant.change(&options);
      Database db(dir, options);
      const Meter meter;
      if (is_churning) {
        Churn(db, tasks, bodies);
      } else {
        Create(db, Layout::kSequence, tasks, bodies);
      }
      db.FlushAndSettle();
      meter.Print(variant.name, tasks);
    }
  }
}

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 3) {
    fmt::print(
        stderr,
        "usage: {} layout|memtable|churn DIR TASKS [sequence|generated|name] [no-collector]\n",
        argv[0]);
    return 2;
  }
  const std::string dir = args[1] + "/spike-key-layout";
  const std::uint64_t tasks = std::stoull(args[2]);
  const auto has = [&](std::string_view word) {
    return std::find(args.begin() + 3, args.end(), word) != args.end();
  };
  if (args[0] == "memtable" || args[0] == "churn") {
    RunVariants(dir, tasks, args[0] == "churn", args.size() > 3 ? std::stoi(args[3]) : 3,
                args.size() > 4 ? args[4] : "");
  } else {
    const bool is_all = !has("sequence") && !has("generated") && !has("name");
    const std::pair<Layout, std::string> layouts[] = {{Layout::kSequence, "sequence"},
                                                      {Layout::kGenerated, "generated"},
                                                      {Layout::kName, "name"}};
    for (const auto& [layout, name] : layouts) {
      if (!is_all && !has(name)) continue;
      fmt::print("{} tasks, bodies by {}\n", tasks, name);
      std::fflush(stdout);
      RunLayout(dir, tasks, layout, !has("no-collector"));
    }
  }
  std::filesystem::remove_all(dir);
  return 0;
}

}  // namespace
}  // namespace sluice::store

int main(int argc, char** argv) { return sluice::store::Main(argc, argv); }
