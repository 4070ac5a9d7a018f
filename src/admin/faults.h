// SPDX-License-Identifier: Apache-2.0
#pragma once

// Faults on demand, for testing applications: makes chosen calls fail, wait, or
// lose their answer, before anything of them was done or after it is durable.
// Which calls of a rule with a probability are hit follows from the seed, the
// rule's id and the number of calls that matched before, nothing else.
//
// All rules that match are asked in the order they were added: delays add up,
// and the first rule that fails or drops the call decides. Rules for
// after_commit see only calls that succeeded.
//
// Threading: any thread. Delayed calls go on on a timer thread.
// Ownership: owns the rules and the calls it holds back; `Stop` lets them go.
// Failure: when too many calls are held back, the next one to be delayed fails
// with RESOURCE_EXHAUSTED and the next one to be dropped is broken off at once.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/fault_rule.h"
#include "admin/real_timer.h"
#include "base/status.h"
#include "front/call_gate.h"

namespace sluice::admin {

inline constexpr std::size_t kFaultRulesMax = 100;
inline constexpr std::size_t kCallsHeldMax = 10'000;

class FaultInjector final : public front::CallGate {
 public:
  /// `methods`: the names rules may use beside "*"; empty: any.
  explicit FaultInjector(std::uint64_t seed, std::vector<std::string> methods = {});
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;
  ~FaultInjector() override { Stop(); }

  void Before(const front::CallInfo& call, Continue proceed) override;
  void After(const front::CallInfo& call, const Status& result, Continue finish) override;

  /// Returns the rule with its id. Errors: INVALID_ARGUMENT for an unknown
  /// method; RESOURCE_EXHAUSTED at kFaultRulesMax.
  StatusOr<FaultRule> Add(FaultRule rule);
  /// In the order they were added, spent ones included.
  [[nodiscard]] std::vector<FaultRule> List() const;
  /// Errors: NOT_FOUND.
  Status Remove(std::uint64_t id);
  /// Returns how many there were.
  std::size_t RemoveAll();

  /// Ends all delays at once, breaks off all calls without an answer, and lets
  /// every later call pass.
  void Stop();

  [[nodiscard]] std::size_t held_count() const { return timer_.waiting_count(); }

 private:
  struct ActiveRule {
    FaultRule rule;
    std::uint64_t draws = 0;  // calls that matched
  };
  /// What the rules decide about one call.
  struct Verdict {
    Duration delay = absl::ZeroDuration();
    Duration hold = absl::ZeroDuration();  // of a dropped call
    Status status;                         // how it then goes on
  };

  void Handle(FaultRule::When when, const front::CallInfo& call, Continue go_on);
  Verdict Decide(FaultRule::When when, std::string_view method);
  bool IsHit(ActiveRule* active) const;

  const std::uint64_t seed_;
  const std::vector<std::string> methods_;
  std::atomic<bool> has_rules_ = false;  // saves the lock while there is none
  mutable std::mutex mutex_;
  std::vector<ActiveRule> rules_;  // guarded by mutex_
  std::uint64_t next_id_ = 1;      // guarded by mutex_
  RealTimer timer_;
};

}  // namespace sluice::admin
