// SPDX-License-Identifier: Apache-2.0
#pragma once

// Simulated time: actions in order of their moment, ties in order of posting.
// An action belongs to a life of the server; a crash ends the life, and what
// that life still had to do never happens.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace sluice::sim {

class EventLoop {
 public:
  using Action = std::function<void()>;

  explicit EventLoop(Time start) : now_(start) {}

  [[nodiscard]] Time now() const { return now_; }
  /// For actions of the world outside: clients, targets, the operator.
  void At(Time when, Action action) { Post(when, 0, std::move(action)); }
  /// For actions of the server process of this life.
  void AtInLife(Time when, Action action) { Post(when, life_, std::move(action)); }
  [[nodiscard]] std::uint64_t life() const { return life_; }
  void EndLife() { ++life_; }

  /// Runs the next action; false when there is none until `end`.
  bool RunOne(Time end) {
    while (!events_.empty()) {
      const auto it = events_.begin();
      if (it->first.first > end) break;
      const Time when = it->first.first;
      Event event = std::move(it->second);
      events_.erase(it);
      if (event.life != 0 && event.life != life_) continue;
      now_ = when;
      event.action();
      return true;
    }
    now_ = end;
    return false;
  }

 private:
  struct Event {
    std::uint64_t life;
    Action action;
  };

  void Post(Time when, std::uint64_t life, Action action) {
    if (when < now_) when = now_;
    events_.emplace(std::pair{when, next_++}, Event{life, std::move(action)});
  }

  Time now_;
  std::uint64_t life_ = 1;
  std::uint64_t next_ = 0;
  std::map<std::pair<Time, std::uint64_t>, Event> events_;
};

}  // namespace sluice::sim
