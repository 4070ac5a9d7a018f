// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_id.h"

#include <array>

#include "base/status.h"

namespace sluice::core {

namespace {

// Ids are the numbers of 19 digits: 10^18 up to, not including, 10^19.
constexpr std::uint64_t kIdFirst = 1'000'000'000'000'000'000u;
constexpr std::uint64_t kIdCount = 9'000'000'000'000'000'000u;

constexpr int kRounds = 6;

/// Spreads every bit of `x` over the whole result.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A Feistel network over 64 bits: whatever `Scramble` does, running the rounds
/// in reverse order undoes it.
class Permutation {
 public:
  explicit Permutation(std::uint64_t key) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      round_keys_[round] = Mix(key + (round + 1) * 0x9E3779B97F4A7C15u);
    }
  }

  [[nodiscard]] std::uint64_t Forward(std::uint64_t x) const {
    auto left = static_cast<std::uint32_t>(x >> 32);
    auto right = static_cast<std::uint32_t>(x);
    for (int round = 0; round < kRounds; ++round) {
      const std::uint32_t next = left ^ Scramble(right, round);
      left = right;
      right = next;
    }
    return Join(left, right);
  }

  [[nodiscard]] std::uint64_t Backward(std::uint64_t x) const {
    auto left = static_cast<std::uint32_t>(x >> 32);
    auto right = static_cast<std::uint32_t>(x);
    for (int round = kRounds - 1; round >= 0; --round) {
      const std::uint32_t previous = right ^ Scramble(left, round);
      right = left;
      left = previous;
    }
    return Join(left, right);
  }

 private:
  [[nodiscard]] std::uint32_t Scramble(std::uint32_t half, int round) const {
    std::uint64_t x = (half ^ round_keys_[static_cast<std::size_t>(round)]) * 0x9FB21C651E98DF25u;
    x ^= x >> 28;
    x *= 0x9FB21C651E98DF25u;
    return static_cast<std::uint32_t>(x >> 32);
  }

  static std::uint64_t Join(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32) | right;
  }

  std::array<std::uint64_t, kRounds> round_keys_{};
};

}  // namespace

std::uint64_t QueueIdKey(std::uint64_t data_key, Incarnation queue) {
  return Mix(data_key ^ Mix(queue));
}

std::string GeneratedTaskId(Sequence sequence, std::uint64_t key) {
  SLUICE_CHECK(sequence > 0 && sequence < kIdCount, "sequence out of range");
  const Permutation permutation(key);
  // Walking the cycle until it is back among the ids keeps the map one to one
  // on a range that is not a power of two. About two steps on average.
  std::uint64_t x = sequence;
  do {
    x = permutation.Forward(x);
  } while (x >= kIdCount);

  std::string id(kGeneratedIdLength, '0');
  std::uint64_t rest = kIdFirst + x;
  for (std::size_t i = kGeneratedIdLength; i-- > 0; rest /= 10) {
    id[i] = static_cast<char>('0' + rest % 10);
  }
  return id;
}

std::optional<Sequence> SequenceOfGeneratedId(std::string_view task_id, std::uint64_t key) {
  if (task_id.size() != kGeneratedIdLength || task_id[0] == '0') return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : task_id) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  const Permutation permutation(key);
  std::uint64_t x = number - kIdFirst;
  do {
    x = permutation.Backward(x);
  } while (x >= kIdCount);
  if (x == 0) return std::nullopt;  // no task has sequence zero
  return x;
}

}  // namespace sluice::core
