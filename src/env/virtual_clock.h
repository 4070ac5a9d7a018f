// SPDX-License-Identifier: Apache-2.0
#pragma once

// A clock that moves only when told to: for tests, the simulation and
// `serve --virtual-time`.
//
// Threading: everything may be called from any thread. Callbacks run one at a
// time on the thread that moves the clock.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "env/clock.h"

namespace sluice::env {

class VirtualClock : public Clock {
 public:
  explicit VirtualClock(Time start) : now_us_(ToMicros(start)) {}
  VirtualClock(const VirtualClock&) = delete;
  VirtualClock& operator=(const VirtualClock&) = delete;

  [[nodiscard]] Time Now() const override;
  /// One hour whatever the deadline: who sleeps is woken by `OnAdvance`.
  [[nodiscard]] Duration RealTimeUntil(Time deadline) const override;

  /// Moves forward by `by` (at least zero) and then calls everyone registered.
  void Advance(Duration by);
  /// Moves to `now`, backwards too, as an operator setting the clock would.
  void Set(Time now);

  /// Ends the registration when destroyed; waits for a call that is running.
  class Registration {
   public:
    Registration() = default;
    ~Registration() { Reset(); }
    Registration(Registration&& other) noexcept : clock_(other.clock_), id_(other.id_) {
      other.clock_ = nullptr;
    }
    Registration& operator=(Registration&& other) noexcept;
    void Reset();

   private:
    friend class VirtualClock;
    Registration(VirtualClock* clock, std::uint64_t id) : clock_(clock), id_(id) {}
    VirtualClock* clock_ = nullptr;
    std::uint64_t id_ = 0;
  };

  /// Calls `wake` after each move. It may read the clock, but must neither move
  /// it nor register or unregister. The clock must outlive the registration.
  [[nodiscard]] Registration OnAdvance(std::function<void()> wake);

 private:
  void WakeAll();

  std::atomic<std::int64_t> now_us_;
  std::mutex callbacks_mutex_;  // held while callbacks run
  std::map<std::uint64_t, std::function<void()>> callbacks_;
  std::uint64_t next_id_ = 1;
};

}  // namespace sluice::env
