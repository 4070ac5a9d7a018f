// SPDX-License-Identifier: Apache-2.0
#pragma once

// Does the queue keep names as long as the exactly-once window supposes? Read once,
// from v2beta3 GetQueue (v2 does not tell), before a committer's client exists. The
// sink never changes a queue. A read now says nothing about the past or the future.
//
// Failure: the status code of the read, without the service's text.

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "base/status.h"
#include "base/time.h"
#include "sluice/sink/failure.h"
#include "sluice/sink/options.h"
#include "sluice/sink/queue_destination.h"

namespace sluice::sink {

/// What the service keeps names for when a queue does not say.
inline constexpr Duration kTombstoneTtlDefault = absl::Hours(1);

/// Reads `tombstone_ttl` of a queue; blocks at most `timeout`.
class QueueRetentionReader {
 public:
  virtual ~QueueRetentionReader() = default;
  /// Nothing when the field is absent.
  [[nodiscard]] virtual std::variant<std::optional<Duration>, Failure> ReadTombstoneTtl(
      const QueueDestination& queue, Duration timeout) = 0;
  /// A second call does nothing.
  [[nodiscard]] virtual Status Close() = 0;
};

/// Opens a reader.
using RetentionReaderFactory = std::function<StatusOr<std::unique_ptr<QueueRetentionReader>>()>;

/// Errors: FAILED_PRECONDITION when the queue keeps names for less than
/// `name_retention` (compared exactly, fractions of a millisecond included);
/// otherwise the code of the failed read.
Status VerifyRetention(const QueueDestination& queue, const StagedOptions& options,
                       QueueRetentionReader& reader);

}  // namespace sluice::sink
