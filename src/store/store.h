// SPDX-License-Identifier: Apache-2.0
#pragma once

// The small, ordered, mutable state: a key-value store with atomic batches,
// point reads and bounded ordered scans. It has no write-ahead log of its own;
// the log is the truth and the caller writes the applied position into the
// same batch as the changes (kMetaKey). RocksDB is the real one, the model
// store the simulated one; both pass store_contract.h.
//
// Threading: `Apply` and `Flush` are called by one thread at a time; reads may
// run beside them from any thread.
// Failure: a write or background error is final: every later `Apply` fails and
// the process must end (design, section 4 rule 5).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/batch.h"

namespace sluice::store {

/// What a point read found. `kCold` is only returned for `ReadMode::kMemoryOnly`.
enum class Lookup : std::uint8_t { kFound, kAbsent, kCold };

enum class ReadMode : std::uint8_t {
  kMemoryOnly,  // never waits for a disk; answers kCold instead
  kBlocking,
};

/// A bounded forward scan over [from, to). Every scan starts at a bound the
/// caller remembered: scanning over deleted keys is slow (measured).
struct ScanRange {
  std::string from;
  std::string to;
  std::size_t rows_max = 0;   // required, > 0
  std::size_t bytes_max = 0;  // keys and values; 0 means no bound; one row is always given
};

/// Gets each row in key order. Return false to stop early.
using RowVisitor = std::function<bool(std::string_view key, std::string_view value)>;

struct StoreUsage {
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t unflushed_bytes = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  /// Makes the batch visible to reads, atomically. Durable only after a flush;
  /// until then a crash loses a suffix of the applied batches, never a middle.
  virtual Status Apply(const Batch& batch) = 0;

  /// Reads one key. Errors: DATA_LOSS, INTERNAL for a damaged or failing store.
  virtual StatusOr<Lookup> Get(std::string_view key, ReadMode mode, std::string* value) const = 0;

  /// Visits rows until a bound is met, the visitor stops, or the range ends.
  /// Returns true when the range was read to its end. One consistent view.
  virtual StatusOr<bool> Scan(const ScanRange& range, const RowVisitor& visit) const = 0;

  /// Writes everything applied so far to disk and syncs it. Blocks.
  virtual Status Flush() = 0;

  /// The value `key` had in the last flush that is known to be on disk, read
  /// back from the flushed data; nothing if it was not there.
  virtual StatusOr<std::optional<std::string>> GetFlushed(std::string_view key) const = 0;

  /// A consistent copy of everything flushed or applied, in the new folder
  /// `dir`, openable as a store. Errors: ALREADY_EXISTS, UNIMPLEMENTED.
  virtual Status Checkpoint(const std::string& dir) = 0;

  [[nodiscard]] virtual StoreUsage Usage() const = 0;
};

}  // namespace sluice::store
