// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands between the engine and the dispatcher and logs the share of attempts
// that a queue's `log_sampling_ratio` asks for: one line when an attempt's
// outcome is known. Which attempts are taken follows from their ids. A URL is
// logged without its query, which may hold secrets.
//
// Threading: as `engine::Dispatcher`. Lines are written by the executor, since
// neither the lane nor the dispatcher may wait for whoever reads the log.
// Ownership: everything given outlives this, and the executor's jobs run first.
// Failure: when the log is not read, lines beyond kAttemptLinesWaitingMax are
// dropped and counted in the next line written.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "env/executor.h"

namespace sluice::admin {

class Logger;

inline constexpr int kAttemptLinesWaitingMax = 1000;

class AttemptLog final : public engine::Dispatcher {
 public:
  AttemptLog(engine::Dispatcher* inner, env::Executor* writer, Logger* log)
      : inner_(*inner), writer_(*writer), log_(*log) {}

  void Start(core::StartAttempt attempt, Finished finished) override;

 private:
  struct Line;
  void Write(const Line& line);

  engine::Dispatcher& inner_;
  env::Executor& writer_;
  Logger& log_;
  std::atomic<int> waiting_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
};

/// Scheme, host, port and path of a URL.
[[nodiscard]] std::string UrlForLog(std::string_view url);

}  // namespace sluice::admin
