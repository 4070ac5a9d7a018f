// SPDX-License-Identifier: Apache-2.0
#include "admin/engine_call.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace sluice::admin {
namespace {

/// Shared by the waiting call and every `done`: an answer after the deadline
/// finds it still there, and whoever is last frees it.
struct Pending {
  explicit Pending(std::size_t count) : replies(count), missing(count) {}

  std::mutex mutex;
  std::condition_variable all_here;
  std::vector<std::optional<engine::Reply>> replies;
  std::size_t missing;
};

}  // namespace

std::vector<engine::Reply> CallAll(engine::Engine& engine, std::vector<engine::Command> commands,
                                   Duration wait_max) {
  const auto pending = std::make_shared<Pending>(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    engine.Submit(std::move(commands[i]), [pending, i](engine::Reply reply) {
      const std::lock_guard lock(pending->mutex);
      pending->replies[i] = std::move(reply);
      if (--pending->missing == 0) pending->all_here.notify_one();
    });
  }
  std::unique_lock lock(pending->mutex);
  pending->all_here.wait_for(lock, absl::ToChronoMilliseconds(wait_max),
                             [&] { return pending->missing == 0; });
  std::vector<engine::Reply> replies;
  replies.reserve(commands.size());
  for (std::optional<engine::Reply>& reply : pending->replies) {
    replies.push_back(reply.has_value()
                          ? *std::move(reply)
                          : engine::Reply(DeadlineExceeded("the engine gave no answer within {} s",
                                                           absl::ToInt64Seconds(wait_max))));
    reply.reset();
  }
  return replies;
}

engine::Reply Call(engine::Engine& engine, engine::Command command, Duration wait_max) {
  std::vector<engine::Command> commands;
  commands.push_back(std::move(command));
  return std::move(CallAll(engine, std::move(commands), wait_max).front());
}

}  // namespace sluice::admin
