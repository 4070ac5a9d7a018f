// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random batches over few keys, so that puts, deletes and ranges meet each
// other; the applied position is in each, as the engine writes it. Test code only.

#include <cstdint>
#include <random>
#include <string>

#include "base/codec.h"
#include "store/batch.h"
#include "store/keys.h"

namespace sluice::store {

inline constexpr int kRandomKeys = 200;

inline std::string RandomKey(std::mt19937_64& rng) {
  // Half of the keys are the other half's prefixes.
  const auto n = rng() % kRandomKeys;
  std::string key = fmt::format("k{:03}", n / 2);
  if (n % 2 == 0) key += "-long";
  return key;
}

/// Batch number `position` (from 1): the same bytes for the same arguments.
inline Batch RandomBatch(std::uint64_t seed, std::uint64_t position, std::size_t value_bytes_max) {
  std::mt19937_64 rng(seed * 1'000'003 + position);
  Batch batch;
  const auto changes = 1 + rng() % 12;
  for (std::uint64_t i = 0; i < changes; ++i) {
    const std::string key = RandomKey(rng);
    switch (rng() % 10) {
      case 0:
      case 1:
      case 2:
        batch.Delete(key);
        break;
      case 3:
        batch.DeleteRange(key, key + "~");  // the key and those it is a prefix of
        break;
      case 4:
        if (rng() % 8 == 0) batch.DeleteRange(key, RandomKey(rng));
        break;
      default:
        batch.Put(key, fmt::format("{}:{}", position, std::string(rng() % value_bytes_max, 'v')));
    }
  }
  std::string applied;
  ByteWriter(&applied).U64(position);
  batch.Put(kMetaKey, applied);
  return batch;
}

/// The position in a value of the applied key.
inline std::uint64_t PositionIn(std::string_view value) {
  ByteReader r(value);
  const std::uint64_t position = r.U64();
  SLUICE_CHECK(r.done(), "an applied position has eight bytes");
  return position;
}

}  // namespace sluice::store
