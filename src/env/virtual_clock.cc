// SPDX-License-Identifier: Apache-2.0
#include "env/virtual_clock.h"

#include <utility>

#include "base/status.h"

namespace sluice::env {

Time VirtualClock::Now() const { return FromMicros(now_us_.load()); }

Duration VirtualClock::RealTimeUntil(Time) const { return absl::Hours(1); }

void VirtualClock::Advance(Duration by) {
  SLUICE_CHECK(by >= absl::ZeroDuration(), "a virtual clock advances by zero or more");
  now_us_.fetch_add(ToMicros(by));
  WakeAll();
}

void VirtualClock::Set(Time now) {
  now_us_.store(ToMicros(now));
  WakeAll();
}

void VirtualClock::WakeAll() {
  const std::lock_guard lock(callbacks_mutex_);
  for (const auto& [id, wake] : callbacks_) wake();
}

VirtualClock::Registration VirtualClock::OnAdvance(std::function<void()> wake) {
  const std::lock_guard lock(callbacks_mutex_);
  const std::uint64_t id = next_id_++;
  callbacks_.emplace(id, std::move(wake));
  return {this, id};
}

VirtualClock::Registration& VirtualClock::Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    Reset();
    clock_ = std::exchange(other.clock_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void VirtualClock::Registration::Reset() {
  if (clock_ == nullptr) return;
  const std::lock_guard lock(clock_->callbacks_mutex_);
  clock_->callbacks_.erase(id_);
  clock_ = nullptr;
}

}  // namespace sluice::env
