// SPDX-License-Identifier: Apache-2.0
#pragma once

// A dead-letter queue that is a Pub/Sub topic (spec of the sink, 6.5). A message's data is
// the whole serialized task, or nothing when there was none; five attributes say where it
// comes from and why. The topic must exist; nothing here makes one.
//
//   auto letters = *PubSubDeadLetterSettings::Builder().topic("p", "orders-dead").Build();
//   builder.failed_task_handler(
//       [letters] { return SendToDeadLetterQueue(MakePubSubDeadLetterQueue(letters)); });
//
// Offers publish at once and wait only at the bound; a flush waits for all that are held. A
// publish that fails for the moment is sent again while somebody waits, up to eight times;
// one deadline covers a whole wait. At least once: a flush that failed has its letters
// offered again after the restart, and what was published stays.
//
// Links sluice_sink_client.
// Threading: settings are values; the queue as DeadLetterQueue says.
// Failure: INVALID_ARGUMENT from `Build`. A key file is read when the queue opens. A failed
// publish keeps its code; a wait that ran out of time is DEADLINE_EXCEEDED.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sluice/sink/endpoint.h"
#include "sluice/sink/failed_task_handler.h"

namespace sluice::sink {

/// What of an error's message goes into `dlq-error`; a longer one ends in "...".
inline constexpr std::size_t kDeadLetterErrorBytesMax = 1024;

class PubSubDeadLetterSettings {
 public:
  class Builder;
  using Nanoseconds = std::chrono::nanoseconds;

  /// projects/P/topics/T
  [[nodiscard]] const std::string& topic() const { return topic_; }
  /// Unset: application default credentials, apart from the sink's own.
  [[nodiscard]] const std::optional<std::string>& service_account_key_file() const {
    return key_file_;
  }
  /// Plaintext, no credentials. Unset: Google's service.
  [[nodiscard]] const std::optional<Endpoint>& emulator_endpoint() const { return emulator_; }
  /// 0: each offer waits for its publish. -1: unbounded until a flush.
  [[nodiscard]] int max_in_flight_messages() const { return max_in_flight_; }
  [[nodiscard]] Nanoseconds flush_timeout() const { return flush_timeout_; }
  [[nodiscard]] Nanoseconds shutdown_timeout() const { return shutdown_timeout_; }

 private:
  PubSubDeadLetterSettings() = default;

  std::string topic_;
  std::optional<std::string> key_file_;
  std::optional<Endpoint> emulator_;
  int max_in_flight_ = 1000;
  Nanoseconds flush_timeout_ = std::chrono::seconds(60);
  Nanoseconds shutdown_timeout_ = std::chrono::seconds(30);
};

class PubSubDeadLetterSettings::Builder {
 public:
  Builder& topic(std::string_view project, std::string_view topic);
  Builder& service_account_key_file(std::string path);
  Builder& emulator_endpoint(std::string_view host_port);
  Builder& max_in_flight_messages(int value);
  Builder& flush_timeout(Nanoseconds value);
  Builder& shutdown_timeout(Nanoseconds value);
  /// The first refused value, or a setting that is missing or excluded by another.
  [[nodiscard]] StatusOr<PubSubDeadLetterSettings> Build() const;

 private:
  void Refuse(const Status& status);

  PubSubDeadLetterSettings settings_;
  Status refused_;
};

[[nodiscard]] std::unique_ptr<DeadLetterQueue> MakePubSubDeadLetterQueue(
    PubSubDeadLetterSettings settings);

/// The first `kDeadLetterErrorBytesMax` bytes of a message, cut between characters; what
/// is no UTF-8 becomes a question mark.
[[nodiscard]] std::string DeadLetterError(std::string_view message);

}  // namespace sluice::sink
