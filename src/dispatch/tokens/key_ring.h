// SPDX-License-Identifier: Apache-2.0
#pragma once

// The keys that sign tokens: made when first needed, kept in a file, renewed by age.
//
//   made ── kPublishAhead ──> signs ── life time ──> published only ── kKeptAfter ──> gone
//
// A new key is published before it signs, so that who verifies has seen it; an old one
// stays published until every token it signed is past. The first key signs at once.
//
// Threading: any thread; calls wait for one another while a key is made or written.
// Failure: a key that cannot be written is not used.

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "dispatch/tokens/signing_key.h"
#include "env/file_system.h"

namespace sluice::dispatch {

inline constexpr Duration kPublishAhead = absl::Hours(2);
inline constexpr Duration kKeptAfter = absl::Hours(24);

class KeyRing {
 public:
  struct Options {
    env::FileSystem* files = nullptr;  // null: the keys live in memory
    std::string path;
    Duration life_time = absl::Hours(24 * 30);  // above kPublishAhead
  };

  /// Reads the file, if there is one. Errors: DATA_LOSS naming the file.
  static StatusOr<std::unique_ptr<KeyRing>> Open(Options options);

  /// The key for a token made at `now`. Its file is durable.
  StatusOr<SigningKey> KeyAt(Time now);
  /// Every key that may have signed a valid token, the latest first.
  StatusOr<std::vector<PublicKey>> Published(Time now);

 private:
  explicit KeyRing(Options options) : options_(std::move(options)) {}

  Status Load();
  Status Renew(Time now);
  [[nodiscard]] StatusOr<std::string> Encode(const std::vector<SigningKey>& keys) const;

  const Options options_;
  std::mutex mutex_;
  std::vector<SigningKey> keys_;  // guarded by mutex_; the latest first
};

}  // namespace sluice::dispatch
